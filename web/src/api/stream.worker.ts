// The worker that all tabs of a browser share: it holds the one stream of events.

import { type Asking, StreamHub } from "./stream";

const hub = new StreamHub();

(self as unknown as { onconnect: (event: MessageEvent) => void }).onconnect = ({ ports }) => {
  const [port] = ports;
  if (port) port.onmessage = ({ data }: MessageEvent<Asking>) => hub.ask(port, data);
};
