/** Everything that can be read from a body of the service, and what it becomes. */
export * from './bodies/alerts.ts';
export * from './bodies/apps.ts';
export * from './bodies/contact-points.ts';
export * from './bodies/disaster-readiness.ts';
export * from './bodies/environments.ts';
export * from './bodies/member-access.ts';
export * from './bodies/solutions.ts';
