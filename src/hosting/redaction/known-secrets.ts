/**
 * The secrets that are in use, and texts without them.
 *
 * A secret is known as long as somebody uses it. The last few values that it had before, and the last few of users that are
 * gone, are known as well: the service may still speak of them. It is found as it is and in the forms in which it may come back: without the white space around it or with other white
 * space in it, in JSON, in a URL, in base64. Looking costs one step per character of the text however many secrets there are,
 * since only a form that ends with the very four characters is compared.
 */
import type { KnownSecrets } from '../../engine/ports.ts';
import type { Secret } from '../../base/secret.ts';

/**
 * How sure it is that a text with a secret in it speaks of the secret: `anyWord` may be a word like any other, `noWord` is no
 * word of a vocabulary, `noName` is nothing that people would name something by.
 */
export type Sureness = 'anyWord' | 'noWord' | 'noName';

const ranks: Readonly<Record<Sureness, number>> = { anyWord: 0, noWord: 1, noName: 2 };
const shortest = 4;
/** What is shorter counts only where it stands by itself: `1234` is part of many a number. */
const shortestWithin = 6;
/** So many earlier values of one user are known, or as many as it uses now, and so many values of users that are gone. */
const fewestFormer = 8;
const mostLeft = 256;
const shortestLine = 20;
const mostLines = 200;
/** What is longer is looked for as it is, but not in other forms. */
const longestEncoded = 16_384;

interface Form {
  readonly text: string;
  readonly rank: number;
}

interface Known {
  users: number;
  readonly forms: readonly Form[];
}

/** The secrets that are in use by somebody. */
export class SecretsInUse implements KnownSecrets {
  /** By user, oldest first. */
  readonly #byUser = new Map<string, readonly string[]>();
  readonly #known = new Map<string, Known>();
  /** Forms by their last four characters. */
  readonly #forms = new Map<number, Form[]>();
  /** Values of users that are gone, oldest first. */
  #left: readonly string[] = [];
  #bits = new Uint8Array(1024);
  #count = 0;

  know(user: string, secrets: readonly Secret[], isToken = false): void {
    const values = secrets.map((secret) => secret.reveal());
    const before = this.#byUser.get(user) ?? [];
    if (values.length === 0 && before.length === 0) return;
    const now = new Set(values);
    const former = before.filter((value) => !now.has(value)).slice(-Math.max(fewestFormer, now.size));
    const after = [...former, ...now];
    if (after.length === before.length && after.every((value, index) => value === before[index])) return;
    this.#byUser.set(user, after);
    for (const value of after) this.#use(value, isToken);
    for (const value of before) this.#leave(value);
  }

  forget(user: string): void {
    const before = this.#byUser.get(user) ?? [];
    this.#byUser.delete(user);
    const left = [...this.#left, ...before];
    this.#left = left.slice(-mostLeft);
    for (const value of left.slice(0, -mostLeft)) this.#leave(value);
  }

  /** The text without the secrets that are at least so sure. */
  hidden(text: string, least: Sureness): string {
    if (this.#count === 0 || text.length < shortest) return text;
    const found = this.#found(text, ranks[least]);
    if (found.length === 0) return text;
    let shown = '';
    let end = 0;
    for (const [from, to] of found.toSorted(([a], [b]) => a - b)) {
      if (from >= end) shown += `${text.slice(end, from)}[secret]`;
      end = Math.max(end, to);
    }
    return shown + text.slice(end);
  }

  #found(text: string, least: number): (readonly [from: number, to: number])[] {
    const found: [number, number][] = [];
    const mask = this.#bits.length - 1;
    const [a, b, c] = [text.charCodeAt(0), text.charCodeAt(1), text.charCodeAt(2)];
    let before = rolled(rolled(rolled(0, a), b), c);
    for (let end = shortest; end <= text.length; end += 1) {
      before = rolled(before, text.charCodeAt(end - 1));
      if (this.#bits[before & mask] === 0) continue;
      for (const form of this.#forms.get(before) ?? []) {
        const from = end - form.text.length;
        if (form.rank >= least && from >= 0 && text.startsWith(form.text, from) && stands(text, from, form.text.length))
          found.push([from, end]);
      }
    }
    return found;
  }

  #use(value: string, isToken: boolean): void {
    const known = this.#known.get(value);
    if (known !== undefined) {
      known.users += 1;
      return;
    }
    const forms = formsOf(value, isToken);
    this.#known.set(value, { users: 1, forms });
    for (const form of forms) this.#add(form);
  }

  #leave(value: string): void {
    const known = this.#known.get(value);
    if (known === undefined) return;
    known.users -= 1;
    if (known.users > 0) return;
    this.#known.delete(value);
    for (const form of known.forms) {
      const ending = endingOf(form.text);
      const left = (this.#forms.get(ending) ?? []).filter((one) => one !== form);
      if (left.length > 0) this.#forms.set(ending, left);
      else this.#forms.delete(ending);
      this.#count -= 1;
    }
    if (this.#forms.size * 64 < this.#bits.length) this.#mark(this.#bits.length / 4);
  }

  #add(form: Form): void {
    const ending = endingOf(form.text);
    const others = this.#forms.get(ending);
    if (others === undefined) this.#forms.set(ending, [form]);
    else others.push(form);
    this.#count += 1;
    if (this.#forms.size * 16 > this.#bits.length) this.#mark(this.#bits.length * 4);
    else this.#bits[ending & (this.#bits.length - 1)] = 1;
  }

  #mark(size: number): void {
    this.#bits = new Uint8Array(Math.max(size, 1024));
    for (const ending of this.#forms.keys()) this.#bits[ending & (this.#bits.length - 1)] = 1;
  }
}

/** The last four characters as one number: what came before falls out at the top. */
function rolled(before: number, code: number): number {
  return ((before << 8) ^ Math.imul(code, 0x9e37)) | 0;
}

function endingOf(text: string): number {
  let ending = 0;
  for (let index = text.length - shortest; index < text.length; index += 1)
    ending = rolled(ending, text.charCodeAt(index));
  return ending;
}

/** What is long enough counts anywhere, what is short by itself only. */
function stands(text: string, from: number, length: number): boolean {
  if (length >= shortestWithin) return true;
  const isPart = (index: number) => /[\p{L}\p{N}_]/u.test(text.charAt(index));
  return !isPart(from - 1) && !isPart(from + length);
}

function rankOf(value: string, isToken: boolean): number {
  if (isToken) return ranks.noName;
  if (/^\p{L}{1,16}$/u.test(value)) return ranks.anyWord;
  return isNoName(value) ? ranks.noName : ranks.noWord;
}

/** What nobody would call anything: a URL, several lines, signs that names lack, or letters and digits as by chance. */
function isNoName(value: string): boolean {
  if (value.length >= 8 && /:\/\/|\n|[+=!#$%^&*?~]/.test(value)) return true;
  if (value.length >= 12 && /[a-z]/.test(value) && /[A-Z]/.test(value) && /\d/.test(value)) return true;
  return value.length >= 20 && /[a-z]/i.test(value) && /(?:\d\D*){4}/.test(value);
}

/** The forms in which a secret may come back, each once. */
function formsOf(secret: string, isToken: boolean): readonly Form[] {
  const value = secret.trim();
  const rank = rankOf(value, isToken);
  const texts = [value, ...otherwiseSpaced(value)];
  const encoded = value.length > longestEncoded ? [] : [...texts, secret].flatMap(encodedForms);
  return [...new Set([...texts, ...encoded])].filter((text) => text.length >= shortest).map((text) => ({ text, rank }));
}

/** Text of several lines as one line, with the line ends of other machines, and line by line. */
function otherwiseSpaced(value: string): readonly string[] {
  if (!/\s/.test(value)) return [];
  const pieces = value.split(/\s+/);
  const lines = value.split(/\s*\n\s*/);
  const long = lines.length > 1 ? lines.filter((line) => line.length >= shortestLine).slice(0, mostLines) : [];
  return [pieces.join(' '), ...(lines.length > 1 ? ['\n', '\r\n', ''].map((end) => lines.join(end)) : []), ...long];
}

function encodedForms(value: string): readonly string[] {
  const inUrl = encodeURIComponent(value.toWellFormed());
  const inJson = JSON.stringify(value).slice(1, -1);
  const bytes = Buffer.from(value);
  const inBase64 = [0, 1, 2].map((offset) => withinBase64(bytes, offset)).filter((text) => text.length >= 8);
  const base64 = [bytes.toString('base64'), ...inBase64];
  return [
    inUrl,
    inUrl.replaceAll('%20', '+'),
    inUrl.replaceAll(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()),
    inJson,
    ...base64,
    ...base64.map((text) => text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')),
  ];
}

/** What stands of the value for certain where it begins so many bytes into something that is in base64. */
function withinBase64(bytes: Buffer, offset: number): string {
  const text = Buffer.concat([Buffer.alloc(offset), bytes])
    .toString('base64')
    .replaceAll('=', '');
  const isWhole = ((offset + bytes.length) * 8) % 6 === 0;
  return text.slice(offset === 0 ? 0 : offset + 1, isWhole ? undefined : -1);
}
