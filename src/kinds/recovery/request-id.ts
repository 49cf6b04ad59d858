/**
 * Makes request ids. The service recognises a repeated request by its id, and responds with the operation that the
 * first request began.
 *
 * An id is a hash of the purpose of the request, such as `activate/v1`, and of its content. So equal content gives the
 * same id from any operator. The content of a RecoveryValidation without spec.runId includes the name of the resource.
 * The content of a configure call includes the uid of the resource and the time, so that each new call has its own id.
 *
 * docs/kinds/recovery-activation.md has test vectors with the exact bytes that are hashed. The bytes change only
 * together with the version in the purpose, such as `v1`.
 */
import { canonicalJson } from '../../base/json.ts';
import { createHash } from 'node:crypto';

/** One of the JSON values from which a request id is made. */
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
