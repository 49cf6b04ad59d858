/** Everything that can be asked of the service, and how its answers read: one builder for each endpoint, named after its path, and one for each read. */
import { alertBodies } from './requests/alerts.ts';
import { appBodies } from './requests/apps.ts';
import { contactPointBodies } from './requests/contact-points.ts';
import { disasterReadinessBodies } from './requests/disaster-readiness.ts';
import type { BodySchemas } from './requests/endpoint.ts';
import { environmentBodies } from './requests/environments.ts';
import { memberAccessBodies } from './requests/member-access.ts';
import { solutionBodies } from './requests/solutions.ts';

export * from './bodies.ts';
export * from './requests/alerts.ts';
export * from './requests/apps.ts';
export * from './requests/contact-points.ts';
export * from './requests/disaster-readiness.ts';
export * from './requests/environments.ts';
export * from './requests/member-access.ts';
export * from './requests/solutions.ts';

/** What each endpoint with a body accepts; the transport sends nothing else. */
export const bodySchemas: BodySchemas = {
  ...appBodies,
  ...environmentBodies,
  ...solutionBodies,
  ...memberAccessBodies,
  ...contactPointBodies,
  ...alertBodies,
  ...disasterReadinessBodies,
};
