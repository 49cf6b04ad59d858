/**
 * Exports the functions that describe each request to the service and each list or object that the operator reads. A function
 * that builds a request is named after its endpoint.
 */
export * from './api/alerts.ts';
export * from './api/apps.ts';
export * from './api/contact-points.ts';
export * from './api/disaster-readiness.ts';
export * from './api/environments.ts';
export * from './api/member-access.ts';
export * from './api/solutions.ts';
