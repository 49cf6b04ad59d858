import type { AnyKind } from '../engine/kind/define.ts';
import { appEnvironment } from './app-environment.ts';
import { clusterHostingAccount } from './cluster-hosting-account.ts';
import { contactPoint } from './contact-point.ts';
import { hostedApp } from './hosted-app.ts';
import { hostingAccount } from './hosting-account.ts';
import { memberAccess } from './member-access.ts';
import { metricAlert } from './metric-alert.ts';
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
];
