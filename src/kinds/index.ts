import type { AnyKind } from '../engine/kind/contract/define.ts';
import { activationDiscard } from './activation-discard/activation-discard.ts';
import { appEnvironment } from './app-environment/app-environment.ts';
import { clusterHostingAccount } from './hosting-account/cluster-hosting-account.ts';
import { contactPoint } from './contact-point/contact-point.ts';
import { disasterProtection } from './disaster-protection/disaster-protection.ts';
import { disasterReset } from './disaster-reset/disaster-reset.ts';
import { hostedApp } from './hosted-app/hosted-app.ts';
import { hostingAccount } from './hosting-account/hosting-account.ts';
import { memberAccess } from './member-access/member-access.ts';
import { metricAlert } from './metric-alert/metric-alert.ts';
import { recoveryActivation } from './recovery-activation/recovery-activation.ts';
import { recoveryValidation } from './recovery-validation/recovery-validation.ts';
import { solutionInstallation } from './solution-installation/solution-installation.ts';

/** All kinds of resources that the operator reconciles. */
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
