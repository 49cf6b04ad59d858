import { clusterHostingAccount, hostingAccount } from './accounts.ts';
import { contactPoint, metricAlert } from './alerting.ts';
import { appEnvironment } from './app-environment.ts';
import { disasterProtection } from './disaster-protection.ts';
import { hostedApp } from './hosted-app.ts';
import { memberAccess } from './member-access.ts';
import { activationDiscard, disasterReset, recoveryActivation, recoveryValidation } from './requests.ts';
import { solutionInstallation } from './solution-installation.ts';
import type { Verdicts } from './table.ts';

/** What the definition of each kind must accept and refuse. */
export const verdicts: readonly Verdicts[] = [
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
