import type { AnyKind } from '../engine/kind/define.ts';
import { activationDiscard } from './activation-discard.ts';
import { clusterHostingAccount } from './cluster-hosting-account.ts';
import { contactPoint } from './contact-point.ts';
import { disasterProtection } from './disaster-protection.ts';
import { disasterReset } from './disaster-reset.ts';
import { hostingAccount } from './hosting-account.ts';
import { metricAlert } from './metric-alert.ts';
import { recoveryActivation } from './recovery-activation.ts';
import { recoveryValidation } from './recovery-validation.ts';

/** Every kind. */
export const kinds: readonly AnyKind[] = [
  hostingAccount,
  clusterHostingAccount,
  contactPoint,
  metricAlert,
  disasterProtection,
  recoveryValidation,
  recoveryActivation,
  activationDiscard,
  disasterReset,
];
