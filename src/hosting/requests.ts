/** All requests and reads of the service: one builder per endpoint, named after its path, and one per read. */
import { alertBodies } from './api/alerts.ts';
import { appBodies } from './api/apps.ts';
import { contactPointBodies } from './api/contact-points.ts';
import { disasterReadinessBodies } from './api/disaster-readiness.ts';
import type { BodySchemas } from './api/endpoint.ts';
import { environmentBodies } from './api/environments.ts';
import { memberAccessBodies } from './api/member-access.ts';
import { solutionBodies } from './api/solutions.ts';

export * from './api/alerts.ts';
export * from './api/apps.ts';
export * from './api/contact-points.ts';
export * from './api/disaster-readiness.ts';
export * from './api/environments.ts';
export * from './api/member-access.ts';
export * from './api/solutions.ts';

/** The schema of each endpoint's body; the transport sends nothing else. */
export const bodySchemas: BodySchemas = {
  ...appBodies,
  ...environmentBodies,
  ...solutionBodies,
  ...memberAccessBodies,
  ...contactPointBodies,
  ...alertBodies,
  ...disasterReadinessBodies,
};
