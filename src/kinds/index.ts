import type { AnyKind } from '../engine/kind/define.ts';
import { clusterHostingAccount } from './cluster-hosting-account.ts';
import { contactPoint } from './contact-point.ts';
import { hostingAccount } from './hosting-account.ts';
import { metricAlert } from './metric-alert.ts';

/** Every kind. */
export const kinds: readonly AnyKind[] = [hostingAccount, clusterHostingAccount, contactPoint, metricAlert];
