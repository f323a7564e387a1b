// Saves generated content as a file.

export function download(name: string, text: string, type = "application/json"): void {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  // The browser has started the download by then.
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** One CSV line; a cell that begins like a formula is escaped. */
const line = (cells: readonly unknown[]) =>
  cells.map((cell) => {
    const text = cell === null || cell === undefined ? "" : String(cell);
    const tame = /^[=+\-@\t\r]/.test(text) && typeof cell !== "number" ? `'${text}` : text;
    return /[",\n\r]/.test(tame) ? `"${tame.replaceAll('"', '""')}"` : tame;
  }).join(",");

export const csv = (head: readonly string[], rows: readonly (readonly unknown[])[]): string =>
  [head, ...rows].map(line).join("\r\n") + "\r\n";
