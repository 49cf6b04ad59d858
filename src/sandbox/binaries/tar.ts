const blockSize = 512;

/** A regular file in a tar archive. */
export interface TarFile {
  readonly path: string;
  readonly content: Buffer;
}

/** The regular files of a tar archive that is whole in memory (POSIX ustar, which is what the official archives use). */
export function* filesOf(tar: Buffer): Generator<TarFile> {
  let at = 0;
  while (at + blockSize <= tar.length) {
    const header = tar.subarray(at, at + blockSize);
    if (header[0] === 0) return;
    const size = Number.parseInt(textOf(header, 124, 12).trim(), 8);
    if (!Number.isSafeInteger(size) || size < 0) throw new RangeError('the archive has an entry without a size');
    const start = at + blockSize;
    if (start + size > tar.length) throw new RangeError('the archive ends in the middle of an entry');
    const prefix = textOf(header, 345, 155);
    const name = textOf(header, 0, 100);
    const type = textOf(header, 156, 1);
    if (type === '0' || type === '') {
      yield { path: prefix === '' ? name : `${prefix}/${name}`, content: tar.subarray(start, start + size) };
    }
    at = start + Math.ceil(size / blockSize) * blockSize;
  }
  throw new RangeError('the archive ends without its last block');
}

function textOf(header: Buffer, from: number, length: number): string {
  const field = header.subarray(from, from + length);
  const end = field.indexOf(0);
  return field.toString('utf8', 0, end === -1 ? length : end);
}
