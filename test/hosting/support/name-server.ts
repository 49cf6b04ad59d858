import { createSocket } from 'node:dgram';
import { once } from 'node:events';

/** What a name server does with one question: addresses with their lifetime, an error code of DNS, or nothing at all. */
export type NameAnswer =
  | { readonly addresses: readonly string[]; readonly ttl: number }
  | 'none'
  | 'unknownName'
  | 'failed'
  | 'refused'
  | 'garbled'
  | 'silent';

/** A name server on loopback, and every question that reached it as `A name` or `AAAA name`. */
export interface NameServer {
  readonly server: string;
  readonly questions: string[];
  close(): Promise<void>;
}

const codes = { none: 0, garbled: 0, failed: 2, unknownName: 3, refused: 5 } as const;

/** Starts a name server that speaks DNS over UDP. */
export async function nameServer(answer: (question: string) => NameAnswer): Promise<NameServer> {
  const socket = createSocket('udp4');
  const questions: string[] = [];
  socket.on('message', (message, from) => {
    const { question, end } = questionIn(message);
    questions.push(question);
    const said = answer(question);
    if (said !== 'silent') socket.send(reply(message, end, said), from.port, from.address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return {
    server: `127.0.0.1:${socket.address().port}`,
    questions,
    close: async () => {
      socket.close();
      await once(socket, 'close');
    },
  };
}

function questionIn(message: Buffer): { readonly question: string; readonly end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = message.readUInt8(at); length > 0; length = message.readUInt8(at)) {
    labels.push(message.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  const type = message.readUInt16BE(at + 1);
  return { question: `${type === 28 ? 'AAAA' : 'A'} ${labels.join('.').toLowerCase()}`, end: at + 5 };
}

function reply(message: Buffer, end: number, answer: Exclude<NameAnswer, 'silent'>): Buffer {
  const { addresses, ttl } = typeof answer === 'string' ? { addresses: [], ttl: 0 } : answer;
  const head = Buffer.from(message.subarray(0, end));
  head.writeUInt16BE(0x8180 | (typeof answer === 'string' ? codes[answer] : 0), 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(addresses.length, 6);
  head.writeUInt32BE(0, 8);
  // Says that it has a record, and ends before it.
  if (answer === 'garbled') head.writeUInt16BE(1, 6);
  return Buffer.concat([head, ...addresses.map((address) => record(address, ttl))]);
}

/** A record about the name of the question, to which it points back. */
function record(address: string, ttl: number): Buffer {
  const bytes = address.includes(':')
    ? Buffer.from(address.split(':').flatMap((group) => [parseInt(group, 16) >> 8, parseInt(group, 16) & 255]))
    : Buffer.from(address.split('.').map(Number));
  const head = Buffer.alloc(12);
  head.writeUInt16BE(0xc00c, 0);
  head.writeUInt16BE(bytes.length === 16 ? 28 : 1, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt32BE(ttl, 6);
  head.writeUInt16BE(bytes.length, 10);
  return Buffer.concat([head, bytes]);
}
