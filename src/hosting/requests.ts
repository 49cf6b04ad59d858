/** Exports the builders of all requests to the service and of all reads; each request builder is named after its endpoint. */
export * from './api/alerts.ts';
export * from './api/apps.ts';
export * from './api/contact-points.ts';
export * from './api/disaster-readiness.ts';
export * from './api/environments.ts';
export * from './api/member-access.ts';
export * from './api/solutions.ts';
