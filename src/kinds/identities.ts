import type { KindIdentity } from '../engine/kind/contract/define.ts';
import { kinds } from './index.ts';

/** What every kind is, without what it decides; manifests, permissions and reference pages are made from this list. */
export const identities: readonly KindIdentity[] = kinds;
