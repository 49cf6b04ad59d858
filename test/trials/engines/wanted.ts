import type { Manifest, Team } from '../../scenarios/support/stages/team.ts';

const apiVersion = 'apphosting.dev/v1alpha1';

/** The Secret and the account of a team. */
export function accountOf({ simulator }: Team): readonly Manifest[] {
  const credentials = { baseUrl: simulator.url, token: 'demo-admin' };
  const spec = { credentialsRef: { name: 'credentials' }, externalId: 'acc_demo', budget: { requestsPerSecond: 50 } };
  return [
    { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'credentials' }, stringData: credentials },
    { apiVersion, kind: 'HostingAccount', metadata: { name: 'default' }, spec },
  ];
}

/** A contact point of this name. */
export function contactPoint(name: string): Manifest {
  const spec = { email: { addresses: [`${name}@example.com`] } };
  return { apiVersion, kind: 'ContactPoint', metadata: { name }, spec };
}

/** An alert that tells this contact point. */
export function alertTo(name: string): Manifest {
  const spec = {
    environmentRef: { externalId: 'env_web_prod' },
    description: 'The web front end is busy.',
    metric: 'cpu_percent',
    operator: 'GreaterThan',
    threshold: 85,
    duration: '10m',
    contactPointRefs: [{ name }],
  };
  return { apiVersion, kind: 'MetricAlert', metadata: { name: 'busy' }, spec };
}
