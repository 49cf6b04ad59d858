/** Exports the builders of all requests and reads of the service; each request builder is named after its endpoint. */
import type { z } from 'zod';
import { alertEndpoints } from './api/alerts.ts';
import { appEndpoints } from './api/apps.ts';
import { contactPointEndpoints } from './api/contact-points.ts';
import { disasterReadinessEndpoints } from './api/disaster-readiness.ts';
import { environmentEndpoints } from './api/environments.ts';
import { memberAccessEndpoints } from './api/member-access.ts';
import { solutionEndpoints } from './api/solutions.ts';

export * from './api/alerts.ts';
export * from './api/apps.ts';
export * from './api/contact-points.ts';
export * from './api/disaster-readiness.ts';
export * from './api/environments.ts';
export * from './api/member-access.ts';
export * from './api/solutions.ts';

/** The body schema of each endpoint. The transport refuses a body that does not fit. */
export const bodySchemas: Readonly<Record<string, z.ZodType>> = Object.fromEntries(
  [
    appEndpoints,
    environmentEndpoints,
    solutionEndpoints,
    memberAccessEndpoints,
    contactPointEndpoints,
    alertEndpoints,
    disasterReadinessEndpoints,
  ]
    .flat()
    .map(({ endpoint, schema }) => [endpoint, schema]),
);
