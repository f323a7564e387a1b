// Notifications in this browser (Web Push): whether it can show them, and its subscription.

import { client } from "./client";

export type Kind = "drafts" | "questions" | "failures";
export type Support = "ready" | "blocked" | "insecure" | "install" | "none";

const WORKER = "/service-worker.js";

/** Whether this browser can show notifications, or the reason why not. */
export function support(): Support {
  if (!isSecureContext) return "insecure";
  if ("serviceWorker" in navigator && "PushManager" in globalThis && "Notification" in globalThis) {
    return Notification.permission === "denied" ? "blocked" : "ready";
  }
  // Safari on iOS has Web Push only in an app on the Home Screen.
  return isAppleMobile(navigator.userAgent, navigator.maxTouchPoints) ? "install" : "none";
}

/** An iPad reports itself as a Mac, and no Mac has a touch screen. */
export const isAppleMobile = (agent: string, touchPoints: number): boolean =>
  /iPhone|iPad|iPod/.test(agent) || (/Macintosh/.test(agent) && touchPoints > 1);

/** The subscription of this browser, if it has one. */
export async function ownSubscription(): Promise<PushSubscription | null> {
  if (!("serviceWorker" in navigator)) return null;
  const registration = await navigator.serviceWorker.getRegistration("/");
  return await registration?.pushManager?.getSubscription() ?? null;
}

/** Matches this browser's subscription with the server's list. */
export async function hashOf(endpoint: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(endpoint));
  return Array.from(new Uint8Array(digest), (one) => one.toString(16).padStart(2, "0")).join("");
}

/** Requests the permission and subscribes; false: the user denied it. */
export async function subscribe(publicKey: string): Promise<boolean> {
  // First: a browser prompts only while it handles the user's click.
  if (await Notification.requestPermission() !== "granted") return false;
  await navigator.serviceWorker.register(WORKER);
  const { pushManager } = await navigator.serviceWorker.ready;
  // A subscription for another key does not work with this server.
  await (await pushManager.getSubscription())?.unsubscribe();
  const made = await pushManager.subscribe({
    userVisibleOnly: true,
    applicationServerKey: decode(publicKey),
  });
  try {
    await save(made);
  } catch (problem) {
    await made.unsubscribe();
    throw problem;
  }
  return true;
}

/** Unsubscribes this browser; the server is notified here, or learns it from the push service. */
export async function unsubscribe(): Promise<void> {
  try {
    await (await ownSubscription())?.unsubscribe();
  } catch {
    // If the push service is unreachable, the browser drops the subscription later.
  }
}

/** Moves the subscription to the current session; one that the server removed is cancelled here too. */
export async function renew(): Promise<void> {
  try {
    const own = await ownSubscription();
    if (!own) return;
    const { data } = await client.GET("/api/v1/me/push");
    const hash = await hashOf(own.endpoint);
    const kept = data?.subscriptions.find((one) => one.endpoint_hash === hash);
    if (!kept) await own.unsubscribe();
    else if (!kept.current) await save(own);
  } catch {
    // The next page load retries.
  }
}

async function save(made: PushSubscription): Promise<void> {
  const { endpoint, keys } = made.toJSON();
  await client.POST("/api/v1/me/push/subscriptions", {
    body: { endpoint: endpoint!, keys: { p256dh: keys!.p256dh!, auth: keys!.auth! } },
  });
}

/** base64url, the encoding of the server's key. */
export function decode(text: string): Uint8Array<ArrayBuffer> {
  const plain = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(plain, (sign) => sign.charCodeAt(0));
}
