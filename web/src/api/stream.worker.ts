// The shared worker of all tabs: it holds the event stream.

import { StreamHub, type Subscription } from "./stream";

const hub = new StreamHub();

(self as unknown as { onconnect: (event: MessageEvent) => void }).onconnect = ({ ports }) => {
  const [port] = ports;
  if (port) port.onmessage = ({ data }: MessageEvent<Subscription>) => hub.subscribe(port, data);
};
