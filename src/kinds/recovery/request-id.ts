/**
 * Makes the id by which the service recognises a repeated request. The id depends only on the purpose and the content
 * that the caller gives.
 *
 * Equal content gives the same id from any operator, and the service answers a repeated id with the operation that it
 * began. Most requests put only what they ask for in the content. A RecoveryValidation without spec.runId adds the name
 * of the resource. A set-up or change of protection adds uid and time, so that each attempt has its own id.
 *
 * Test vectors in docs/kinds/recovery-activation.md publish the bytes, which never change within a version of a
 * purpose.
 */
import { canonicalJson } from '../../base/json.ts';
import { createHash } from 'node:crypto';

/** The values from which a request id is made. */
export type Content = string | number | boolean | null | { readonly [key: string]: Content | undefined };

/** Returns a UUID of version 8 from the first 16 bytes of the SHA-256 over the canonical JSON of purpose and content. */
export function requestIdOf(purpose: string, content: { readonly [key: string]: Content | undefined }): string {
  const bytes = createHash('sha256')
    .update(canonicalJson({ ...content, purpose }))
    .digest()
    .subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x80, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = bytes.toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}
