import type { KindIdentity } from '../engine/kind/contract/define.ts';
import { kinds } from './index.ts';

/** The names, schemas and columns of every kind. The CRDs, permissions and reference pages are generated from this list. */
export const identities: readonly KindIdentity[] = kinds;
