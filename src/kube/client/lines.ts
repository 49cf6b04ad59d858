import { KubeError } from '../../engine/ports.ts';
import { GarbledError } from './failure.ts';

const newline = 0x0a;

/** Splits a stream of bytes into lines; throws when a line is longer than `maxBytes` or is not UTF-8. */
export async function* linesOf(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number,
  what: string,
): AsyncGenerator<string, void, void> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const decode = (bytes: Uint8Array): string => {
    try {
      return decoder.decode(bytes);
    } catch {
      throw new GarbledError(`${what}: a line is not UTF-8`);
    }
  };
  let pending: Uint8Array[] = [];
  let size = 0;
  const keep = (part: Uint8Array): void => {
    size += part.byteLength;
    if (size > maxBytes) throw new GarbledError(`${what}: a line is longer than ${maxBytes} bytes`);
    if (part.byteLength > 0) pending.push(part);
  };
  for await (const chunk of chunks) {
    let from = 0;
    for (let at = chunk.indexOf(newline); at >= 0; at = chunk.indexOf(newline, from)) {
      keep(chunk.subarray(from, at));
      const line = decode(pending.length === 1 ? (pending[0] ?? chunk) : Buffer.concat(pending));
      pending = [];
      size = 0;
      from = at + 1;
      if (line !== '') yield line;
    }
    keep(chunk.subarray(from));
  }
  if (size > 0) throw new KubeError('unavailable', `${what}: the stream ended within a line`);
}
