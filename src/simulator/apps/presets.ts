import { type Area, ok } from '../area.ts';

interface AppPreset {
  readonly name: string;
  readonly label: string;
  readonly versions: readonly string[];
  readonly isCustom?: boolean;
  readonly isFunction?: boolean;
  readonly isJob?: boolean;
  readonly requiresDockerfile?: boolean;
}

interface DatabasePreset {
  readonly name: string;
  readonly label: string;
  readonly versions: readonly string[];
  readonly protocols: readonly string[];
  /** Disk in gigabytes. */
  readonly limits: { readonly maxDisk: number; readonly maxReplicas: number };
}

/** The presets of apps, without managed services. The last version is the default. */
const appPresets: readonly AppPreset[] = [
  { name: 'NEXT_JS', label: 'Next.js', versions: ['NEXT_JS_NODE_JS_20', 'NEXT_JS_NODE_JS_22'] },
  { name: 'REMIX', label: 'Remix', versions: ['REMIX_NODE_JS_20', 'REMIX_NODE_JS_22'] },
  { name: 'VITE', label: 'Vite', versions: ['VITE_NODE_JS_20', 'VITE_NODE_JS_22'] },
  { name: 'VUE_JS', label: 'Vue.js', versions: ['VUE_JS_NODE_JS_20', 'VUE_JS_NODE_JS_22'] },
  { name: 'EXPRESS', label: 'Express', versions: ['EXPRESS_NODE_JS_20', 'EXPRESS_NODE_JS_22'] },
  {
    name: 'NODE_JS_INSTALL_START',
    label: 'Node.js (install, start)',
    versions: ['NODE_JS_INSTALL_START_20', 'NODE_JS_INSTALL_START_22'],
  },
  {
    name: 'NODE_JS_INSTALL_BUILD_START',
    label: 'Node.js (install, build, start)',
    versions: ['NODE_JS_INSTALL_BUILD_START_20', 'NODE_JS_INSTALL_BUILD_START_22'],
  },
  { name: 'ANGULAR', label: 'Angular', versions: ['ANGULAR_NODE_JS_20', 'ANGULAR_NODE_JS_22'] },
  { name: 'METEOR_JS', label: 'Meteor', versions: ['METEOR_JS_2_16', 'METEOR_JS_3_5'] },
  { name: 'CUSTOM', label: 'Custom', versions: [], isCustom: true, requiresDockerfile: true },
  { name: 'FUNCTION', label: 'Function', versions: [], isFunction: true, requiresDockerfile: true },
  { name: 'JOB', label: 'Job', versions: [], isJob: true, requiresDockerfile: true },
];

/** The managed services. CouchDB is single-node. */
const databasePresets: readonly DatabasePreset[] = [
  database('MONGODB', 'MongoDB', ['MONGODB_7', 'MONGODB_8'], ['mongodb'], 3),
  database('POSTGRESQL', 'PostgreSQL', ['POSTGRESQL_15', 'POSTGRESQL_16', 'POSTGRESQL_17'], ['postgresql'], 3),
  database('MYSQL', 'MySQL', ['MYSQL_8_0', 'MYSQL_8_4'], ['mysql'], 3),
  database('REDIS', 'Redis', ['REDIS_7', 'REDIS_8'], ['redis', 'rediss'], 3),
  database('COUCHDB', 'CouchDB', ['COUCHDB_3_3', 'COUCHDB_3_4'], ['http'], 1),
  database('RABBITMQ', 'RabbitMQ', ['RABBITMQ_3_13', 'RABBITMQ_4_0'], ['amqp'], 3),
  database('CLICKHOUSE', 'ClickHouse', ['CLICKHOUSE_24', 'CLICKHOUSE_25'], ['http', 'clickhouse'], 3),
];

function database(
  name: string,
  label: string,
  versions: readonly string[],
  protocols: readonly string[],
  maxReplicas: number,
): DatabasePreset {
  return { name, label, versions, protocols, limits: { maxDisk: 500, maxReplicas } };
}

/** The values of dockerPreset that POST /app takes. */
export const creatablePresets: readonly string[] = [...appPresets, ...databasePresets].map((preset) => preset.name);

/** The values of dockerPreset that PATCH /app takes: responses and updates also know the older words. */
export const knownPresets: readonly string[] = [...creatablePresets, 'NODE', 'METEOR', 'PYTHON'];

/** Tells if a preset is a managed service. */
export function isDatabase(preset: string): boolean {
  return databasePresets.some((each) => each.name === preset);
}

/** The versions of a preset; empty when it has none. */
export function versionsOf(preset: string): readonly string[] {
  return [...appPresets, ...databasePresets].find((each) => each.name === preset)?.versions ?? [];
}

/** The catalog of what apps can be made from. */
export const presets: Area = {
  name: 'presets',
  collections: [],
  routes: [
    {
      method: 'GET',
      path: '/app-presets',
      scopes: ['svc:read'],
      takes: [],
      handle: () =>
        ok({
          presets: appPresets.map(({ name, label, versions, isCustom, isFunction, isJob, requiresDockerfile }) => ({
            name,
            label,
            hasVersions: versions.length > 0,
            versions,
            defaultDockerPresetVersion: versions.at(-1),
            isCustom,
            isFunction,
            isJob,
            requiresDockerfile,
          })),
        }),
    },
    {
      method: 'GET',
      path: '/database-presets',
      scopes: ['svc:read'],
      takes: [],
      handle: () =>
        ok({
          presets: databasePresets.map(({ name, label, versions, protocols, limits }) => ({
            name,
            label,
            versions,
            defaultDockerPresetVersion: versions.at(-1),
            protocols,
            limits,
          })),
        }),
    },
  ],
};
