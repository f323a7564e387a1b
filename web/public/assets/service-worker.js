// Shows notifications that the server pushes, and opens the page that one leads to. It handles no
// requests and stores nothing: what the page shows always comes from the server.

self.addEventListener("install", () => self.skipWaiting());

self.addEventListener("push", (event) => event.waitUntil(show(read(event.data))));

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(open(event.notification.data?.link));
});

function read(data) {
  try {
    return data.json();
  } catch {
    // A browser revokes the permission if a push shows nothing.
    return { title: "Mainspring", body: "Something waits for you.", link: "/inbox" };
  }
}

function show({ title, body, link, tag }) {
  return self.registration.showNotification(String(title), {
    body: body ? String(body) : "",
    tag: tag ? String(tag) : undefined,
    icon: "/assets/icon-192.png",
    badge: "/assets/badge-96.png",
    data: { link },
  });
}

async function open(link) {
  const wanted = own(link);
  const windows = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
  // A window on another screen may hold unsaved work, so it is not navigated.
  const there = windows.find((one) => place(new URL(one.url)) === place(wanted));
  return there ? there.focus() : self.clients.openWindow(wanted.href);
}

/** The address of a page of this site; the first screen in place of any other. */
function own(link) {
  const home = new URL("/", self.location.origin);
  try {
    const found = new URL(String(link), self.location.origin);
    return found.origin === home.origin ? found : home;
  } catch {
    return home;
  }
}

/** What an address shows; the page drops the workspace from it once it is shown. */
function place(address) {
  const query = new URLSearchParams(address.search);
  query.delete("workspace");
  return `${address.origin}${address.pathname}?${query}`;
}
