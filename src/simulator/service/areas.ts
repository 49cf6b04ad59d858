import { accounts, credentials, memberships, regions, tokens } from './accounts/records.ts';
import { alertsArea } from './alerts/area.ts';
import { appsArea } from './apps/area.ts';
import type { Area } from './area.ts';
import { contactPointsArea } from './contact-points/area.ts';
import { disasterReadiness } from './disaster/area.ts';
import { environmentsArea } from './environments/area.ts';
import { memberAccess } from './member-access/area.ts';
import { solutionsArea } from './solutions/area.ts';
import { faults } from './faults.ts';
import type { AnyCollection } from '../store/collection.ts';
import { settings } from '../store/saved.ts';
import { timers } from '../store/store.ts';

/** Lists every area of the simulator; area.ts explains how to add an area. */
export const areas: readonly Area[] = [
  appsArea,
  environmentsArea,
  solutionsArea,
  memberAccess,
  contactPointsArea,
  alertsArea,
  disasterReadiness,
];

const common = [settings, timers, faults, accounts, tokens, memberships, regions, credentials];

/** Lists every type of object that the simulator stores. */
export const collections: readonly AnyCollection[] = [...common, ...areas.flatMap((area) => area.collections)];

/** The names of the collections that a file with saved data may contain. */
export const collectionNames: ReadonlySet<string> = new Set(collections.map(({ name }) => name));

/** Lists every endpoint of the public API. */
export const publicRoutes = areas.flatMap(({ routes }) => routes);
