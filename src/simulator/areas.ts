import { alertsArea } from './alerts/area.ts';
import { appsArea } from './apps/area.ts';
import type { Area } from './area.ts';
import { contactPointsArea } from './contact-points/area.ts';
import { disasterReadiness } from './disaster/area.ts';
import { environmentsArea } from './environments/area.ts';
import { memberAccess } from './accounts/member-access.ts';
import { presets } from './apps/presets.ts';
import { solutionsArea } from './solutions/area.ts';

/** Every area of the interface; see area.ts for how one plugs in. */
export const areas: readonly Area[] = [
  presets,
  appsArea,
  environmentsArea,
  solutionsArea,
  memberAccess,
  contactPointsArea,
  alertsArea,
  disasterReadiness,
];
