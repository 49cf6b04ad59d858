import { invalid } from './refusal.ts';

const deepest = 64;

/** Reads JSON more strictly than JSON.parse: no double keys, no prototype keys, no endless depth, no infinite numbers. */
export function parseJson(bytes: Uint8Array): unknown {
  const text = decode(bytes);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw invalid('the body is not valid JSON');
  }
  inspect(text);
  return value;
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw invalid('the body is not valid UTF-8');
  }
}

/** Walks over text that is known to be JSON and refuses what parsing would silently swallow. */
function inspect(text: string): void {
  /** One set of keys per open object; undefined for an open list. */
  const open: (Set<string> | undefined)[] = [];
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at];
    if (char === '{' || char === '[') {
      open.push(char === '{' ? new Set() : undefined);
      if (open.length > deepest) throw invalid(`the body is nested more than ${deepest} deep`);
    } else if (char === '}' || char === ']') {
      open.pop();
    } else if (char === '"') {
      const end = endOfString(text, at);
      if (isKey(text, end)) noteKey(open.at(-1), text.slice(at, end));
      at = end - 1;
    } else if (char === '-' || (char !== undefined && char >= '0' && char <= '9')) {
      at = endOfNumber(text, at) - 1;
    }
  }
}

function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at + 1;
}

function isKey(text: string, end: number): boolean {
  let at = end;
  while (text[at] === ' ' || text[at] === '\n' || text[at] === '\r' || text[at] === '\t') at += 1;
  return text[at] === ':';
}

function noteKey(keys: Set<string> | undefined, quoted: string): void {
  const key = quoted.includes('\\') ? String(JSON.parse(quoted)) : quoted.slice(1, -1);
  if (key === '__proto__') throw invalid('__proto__ is not a field');
  if (keys?.has(key)) throw invalid(`the body has the field ${JSON.stringify(key)} twice`);
  keys?.add(key);
}

function endOfNumber(text: string, start: number): number {
  let at = start + 1;
  while (/[0-9eE.+-]/.test(text[at] ?? '')) at += 1;
  if (!Number.isFinite(Number(text.slice(start, at)))) throw invalid('the body has a number that is too large');
  return at;
}
