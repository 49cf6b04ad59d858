import type { KindIdentity } from '../engine/kind/contract/define.ts';
import { kinds } from './index.ts';

/** The names, schemas and columns of every kind. Manifests, permissions and reference pages are made from this list. */
export const identities: readonly KindIdentity[] = kinds;
