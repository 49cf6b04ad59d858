import type { AnyKind } from '../engine/kind/define.ts';
import { activationDiscard } from './activation-discard.ts';
import { appEnvironment } from './app-environment.ts';
import { clusterHostingAccount } from './cluster-hosting-account.ts';
import { contactPoint } from './contact-point.ts';
import { disasterProtection } from './disaster-protection.ts';
import { disasterReset } from './disaster-reset.ts';
import { hostedApp } from './hosted-app.ts';
import { hostingAccount } from './hosting-account.ts';
import { memberAccess } from './member-access.ts';
import { metricAlert } from './metric-alert.ts';
import { recoveryActivation } from './recovery-activation.ts';
import { recoveryValidation } from './recovery-validation.ts';
import { solutionInstallation } from './solution-installation.ts';

/** Every kind. */
export const kinds: readonly AnyKind[] = [
  hostingAccount,
  clusterHostingAccount,
  hostedApp,
  appEnvironment,
  solutionInstallation,
  contactPoint,
  metricAlert,
  memberAccess,
  disasterProtection,
  recoveryValidation,
  recoveryActivation,
  activationDiscard,
  disasterReset,
];
