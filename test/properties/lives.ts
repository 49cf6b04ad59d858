import type { InProcess, InProcessOptions } from '../support/in-process.ts';
import { recoveryLives } from './recovery-lives.ts';

/**
 * One kind's everyday life, in the words that the standing properties need. A later kind joins with one entry.
 */
export interface Life {
  readonly kind: string;
  readonly name: string;
  /** What must be there before: Secrets and other resources. */
  readonly arrange: (world: InProcess) => Promise<void>;
  /** Where it pins what the service shows: from the world that it was arranged in. */
  readonly spec: object | ((world: InProcess) => object);
  /** Absent for a request: it cannot be edited. */
  readonly edited?: object;
  /** The ids that the service holds for this resource. */
  readonly made: (world: InProcess) => Promise<readonly string[]>;
  /** The service keeps it after the resource is deleted. */
  readonly stays?: boolean;
  /** Reasons other than Ready with which it may come to rest after a disturbance, since only people can go on. */
  readonly endsWith?: readonly string[];
  /** The reason of Ready when all is well; InSync unless said. */
  readonly rests?: string;
  /** Reasons with which a request may end for good without having been sent. */
  readonly unsentWith?: readonly string[];
  /** What its operator is started with. */
  readonly options?: InProcessOptions;
  /** The service goes on by itself, so that other resources show something new. */
  readonly movesOn?: boolean;
  /** Values that must never be seen anywhere but in their Secret and in the service. */
  readonly planted: readonly string[];
}

/** What the service really holds, whatever its lists show. */
async function named(world: InProcess, collection: string, id: string, name: string): Promise<readonly string[]> {
  const { collections } = (await world.control('GET', '/world')) as {
    collections: Readonly<Record<string, readonly Readonly<Record<string, unknown>>[]>>;
  };
  const rows = collections[collection] ?? [];
  return rows.filter((row) => row['name'] === name).map((row) => String(row[id]));
}

interface Contents {
  readonly contents: readonly { readonly contentId: string; readonly image: string }[];
}

/** The content versions of an image, whatever the interface shows; an uncertain deployment may make a second one. */
async function deployed(world: InProcess, appEnvId: string, prefix: string): Promise<readonly string[]> {
  const { contents } = (await world.control('GET', `/environments/${appEnvId}`)) as Contents;
  const images = contents.filter(({ image }) => image.startsWith(prefix)).map(({ image }) => image);
  const isDoubled = images.some((image) => images.filter((other) => other === image).length > 2);
  return isDoubled ? images : [...new Set(images)].slice(-1);
}

const hookUrl = 'https://hook.example.com/planted-hook-secret';
const hookPassword = 'planted-Hook-passw0rd';

export const everydayLives: readonly Life[] = [
  {
    kind: 'ContactPoint',
    name: 'on-call',
    arrange: async (world) => world.secret('hook', { url: hookUrl, password: hookPassword }),
    spec: {
      webhook: {
        url: { valueFrom: { secretKeyRef: { name: 'hook', key: 'url' } } },
        username: 'us',
        password: { valueFrom: { secretKeyRef: { name: 'hook', key: 'password' } } },
      },
    },
    edited: {
      name: 'on-call',
      webhook: { url: { valueFrom: { secretKeyRef: { name: 'hook', key: 'url' } } }, httpMethod: 'PUT' },
    },
    made: (world) => named(world, 'contactPoints', 'contactPointId', 'on-call'),
    planted: [hookUrl, hookPassword],
  },
  {
    kind: 'MetricAlert',
    name: 'cpu',
    arrange: async (world) => {
      const { body } = await world.request('POST', '/contact-point', {
        accountId: 'acc_demo',
        name: 'ops',
        type: 'email',
        config: { addresses: ['ops@example.com'] },
      });
      const { contactPoint } = body as { contactPoint: { contactPointId: string } };
      world.apply('ContactPoint', 'ops', {
        externalId: contactPoint.contactPointId,
        name: 'ops',
        email: { addresses: ['ops@example.com'] },
      });
    },
    spec: {
      environmentRef: { externalId: 'env_web_prod' },
      metric: 'cpu_percent',
      operator: 'GreaterThan',
      contactPointRefs: [{ name: 'ops' }],
    },
    edited: {
      environmentRef: { externalId: 'env_web_prod' },
      metric: 'cpu_percent',
      operator: 'GreaterThan',
      threshold: 95,
      enabled: false,
      contactPointRefs: [{ name: 'ops' }],
    },
    made: (world) => named(world, 'alerts', 'alertId', 'cpu'),
    planted: [],
  },
  {
    kind: 'HostedApp',
    name: 'shop',
    arrange: async (world) => world.secret('probe', { token: 'planted-Probe-t0ken' }),
    spec: {
      image: { reference: 'registry.example.com/shop:1' },
      port: 8080,
      healthCheck: {
        path: '/healthz',
        headers: [{ name: 'X-Probe', valueFrom: { secretKeyRef: { name: 'probe', key: 'token' } } }],
      },
      lifecycle: { onDelete: 'Delete' },
    },
    edited: {
      image: { reference: 'registry.example.com/shop:2' },
      port: 9090,
      healthCheck: { path: '/live' },
      lifecycle: { onDelete: 'Delete' },
    },
    made: (world) => named(world, 'apps', 'appId', 'shop'),
    planted: ['planted-Probe-t0ken'],
  },
  {
    kind: 'AppEnvironment',
    name: 'staging',
    arrange: async (world) => world.secret('db', { password: 'planted-Db-passw0rd' }),
    spec: {
      externalId: 'env_web_staging',
      powerState: 'Running',
      deploy: { image: 'registry.example.com/shop:1', onBind: 'Deploy' },
      env: [{ name: 'PASSWORD', valueFrom: { secretKeyRef: { name: 'db', key: 'password' } } }],
    },
    edited: {
      externalId: 'env_web_staging',
      powerState: 'Running',
      deploy: { image: 'registry.example.com/shop:2' },
      startupConfig: { command: 'node server.js' },
    },
    made: (world) => deployed(world, 'env_web_staging', 'registry.example.com/shop'),
    stays: true,
    planted: ['planted-Db-passw0rd'],
  },
  {
    kind: 'SolutionInstallation',
    name: 'jobs',
    arrange: async () => undefined,
    spec: { solution: 'queue-worker', appName: 'jobs', region: 'eu-west' },
    edited: {
      solution: 'queue-worker',
      appName: 'jobs',
      region: 'eu-west',
      lifecycle: { onMissing: 'Recreate' },
    },
    made: (world) => named(world, 'apps', 'appId', 'jobs-api'),
    stays: true,
    endsWith: ['InstallationIdUnknown'],
    planted: [],
  },
  {
    kind: 'MemberAccess',
    name: 'contractor',
    arrange: async () => undefined,
    spec: { externalId: 'mem_demo', access: 'Restricted', environmentRefs: [{ externalId: 'env_web_staging' }] },
    edited: {
      externalId: 'mem_demo',
      access: 'Restricted',
      environmentRefs: [{ externalId: 'env_web_prod' }, { externalId: 'env_db_prod' }],
    },
    made: async (world) => {
      const { collections } = (await world.control('GET', '/world')) as {
        collections: { memberships: readonly { membershipId: string; allowedAppEnvIds: readonly string[] }[] };
      };
      return collections.memberships
        .filter(({ membershipId, allowedAppEnvIds }) => membershipId === 'mem_demo' && allowedAppEnvIds.length > 0)
        .map(({ membershipId }) => membershipId);
    },
    stays: true,
    planted: [],
  },
];

export const lives: readonly Life[] = [...everydayLives, ...recoveryLives];
