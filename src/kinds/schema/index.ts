import type { KindIdentity } from '../../engine/kind/define.ts';
import * as activationDiscard from './activation-discard.ts';
import * as appEnvironment from './app-environment.ts';
import * as clusterHostingAccount from './cluster-hosting-account.ts';
import * as contactPoint from './contact-point.ts';
import * as disasterProtection from './disaster-protection.ts';
import * as disasterReset from './disaster-reset.ts';
import * as hostedApp from './hosted-app.ts';
import * as hostingAccount from './hosting-account.ts';
import * as memberAccess from './member-access.ts';
import * as metricAlert from './metric-alert.ts';
import * as recoveryActivation from './recovery-activation.ts';
import * as recoveryValidation from './recovery-validation.ts';
import * as solutionInstallation from './solution-installation.ts';

/** What every kind is; manifests, permissions and reference pages are made from this list. */
export const identities: readonly KindIdentity[] = [
  hostingAccount.identity,
  clusterHostingAccount.identity,
  hostedApp.identity,
  appEnvironment.identity,
  solutionInstallation.identity,
  contactPoint.identity,
  metricAlert.identity,
  memberAccess.identity,
  disasterProtection.identity,
  recoveryValidation.identity,
  recoveryActivation.identity,
  activationDiscard.identity,
  disasterReset.identity,
];
