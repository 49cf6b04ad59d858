import { canonicalJson, type Json, type Secret } from '../../base/json.ts';
import { createHash, createHmac } from 'node:crypto';

const base32 = 'abcdefghijklmnopqrstuvwxyz234567';
const nameLength = 12;
const signLength = 4;

/**
 * The operator's own key. It makes fingerprints of values that the service never shows, and marks of objects that we created.
 */
export class OperatorKey {
  readonly #key: Secret;
  /** Identifies the key, so that a fingerprint made with another key is recognised as such. */
  readonly id: string;

  constructor(key: Secret) {
    this.#key = key;
    this.id = createHash('sha256').update(key.reveal()).digest('hex').slice(0, 8);
  }

  /** `<keyId>:<digest>` of a value; equal values have equal fingerprints, and nothing else can be learned from one. */
  print(value: Json): string {
    return `${this.id}:${createHmac('sha256', this.#key.reveal()).update(canonicalJson(value)).digest('hex').slice(0, 32)}`;
  }

  /** The mark of one object in one account: `apphosting:` and 16 characters. The last four prove that this key made it. */
  marker(endpoint: string, accountId: string, uid: string): string {
    return this.#signed(`apphosting:${this.#letters(`marker|${endpoint}|${accountId}|${uid}`, nameLength)}`);
  }

  /** True when this key made the mark. */
  isOwn(marker: string): boolean {
    return this.#signed(marker.slice(0, 'apphosting:'.length + nameLength)) === marker;
  }

  #signed(name: string): string {
    return `${name}${this.#letters(`mark of|${name}`, signLength)}`;
  }

  #letters(text: string, length: number): string {
    const digest = createHmac('sha256', this.#key.reveal()).update(text).digest();
    return [...digest.subarray(0, length)].map((byte) => base32[byte % 32] ?? '').join('');
  }
}
