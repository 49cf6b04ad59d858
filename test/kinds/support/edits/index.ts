import { appEnvironmentEdits } from './app-environment.ts';
import { contactPointEdits } from './contact-point.ts';
import { disasterProtectionEdits } from './disaster-protection.ts';
import { hostedAppEdits } from './hosted-app.ts';
import { memberAccessEdits } from './member-access.ts';
import { metricAlertEdits } from './metric-alert.ts';
import { solutionInstallationEdits } from './solution-installation.ts';
import type { Edits } from './table.ts';

/** The edits of each kind that edits the service as long as it lives. */
export const allEdits: readonly Edits[] = [
  hostedAppEdits,
  appEnvironmentEdits,
  solutionInstallationEdits,
  contactPointEdits,
  metricAlertEdits,
  memberAccessEdits,
  disasterProtectionEdits,
];
