/** Creates an entry of GET /app-presets for one preset. The last version is the default version. */
function app(name: string, label: string, versions: readonly string[], marks: readonly string[] = []) {
  const isMarked = (mark: string) => (marks.includes(mark) ? true : undefined);
  return {
    name,
    label,
    hasVersions: versions.length > 0,
    versions,
    defaultDockerPresetVersion: versions.at(-1),
    isCustom: isMarked('isCustom'),
    isFunction: isMarked('isFunction'),
    isJob: isMarked('isJob'),
    requiresDockerfile: isMarked('requiresDockerfile'),
  };
}

/** The presets of apps that are not managed services, as GET /app-presets returns them. */
export const appPresets = [
  app('NEXT_JS', 'Next.js', ['NEXT_JS_NODE_JS_20', 'NEXT_JS_NODE_JS_22']),
  app('REMIX', 'Remix', ['REMIX_NODE_JS_20', 'REMIX_NODE_JS_22']),
  app('VITE', 'Vite', ['VITE_NODE_JS_20', 'VITE_NODE_JS_22']),
  app('VUE_JS', 'Vue.js', ['VUE_JS_NODE_JS_20', 'VUE_JS_NODE_JS_22']),
  app('EXPRESS', 'Express', ['EXPRESS_NODE_JS_20', 'EXPRESS_NODE_JS_22']),
  app('NODE_JS_INSTALL_START', 'Node.js (install, start)', ['NODE_JS_INSTALL_START_20', 'NODE_JS_INSTALL_START_22']),
  app('NODE_JS_INSTALL_BUILD_START', 'Node.js (install, build, start)', [
    'NODE_JS_INSTALL_BUILD_START_20',
    'NODE_JS_INSTALL_BUILD_START_22',
  ]),
  app('ANGULAR', 'Angular', ['ANGULAR_NODE_JS_20', 'ANGULAR_NODE_JS_22']),
  app('METEOR_JS', 'Meteor', ['METEOR_JS_2_16', 'METEOR_JS_3_5']),
  app('CUSTOM', 'Custom', [], ['isCustom', 'requiresDockerfile']),
  app('FUNCTION', 'Function', [], ['isFunction', 'requiresDockerfile']),
  app('JOB', 'Job', [], ['isJob', 'requiresDockerfile']),
];

/**
 * Creates an entry of GET /database-presets for one managed service. The limits are the largest disk in gigabytes and
 * the highest number of replicas, which is 1 for CouchDB.
 */
function database(name: string, label: string, versions: readonly string[], protocols: readonly string[]) {
  const limits = { maxDisk: 500, maxReplicas: name === 'COUCHDB' ? 1 : 3 };
  return { name, label, versions, defaultDockerPresetVersion: versions.at(-1), protocols, limits };
}

/** The presets of managed services, as GET /database-presets returns them. */
export const databasePresets = [
  database('MONGODB', 'MongoDB', ['MONGODB_7', 'MONGODB_8'], ['mongodb']),
  database('POSTGRESQL', 'PostgreSQL', ['POSTGRESQL_15', 'POSTGRESQL_16', 'POSTGRESQL_17'], ['postgresql']),
  database('MYSQL', 'MySQL', ['MYSQL_8_0', 'MYSQL_8_4'], ['mysql']),
  database('REDIS', 'Redis', ['REDIS_7', 'REDIS_8'], ['redis', 'rediss']),
  database('COUCHDB', 'CouchDB', ['COUCHDB_3_3', 'COUCHDB_3_4'], ['http']),
  database('RABBITMQ', 'RabbitMQ', ['RABBITMQ_3_13', 'RABBITMQ_4_0'], ['amqp']),
  database('CLICKHOUSE', 'ClickHouse', ['CLICKHOUSE_24', 'CLICKHOUSE_25'], ['http', 'clickhouse']),
];

/** The values of `dockerPreset` that POST /app accepts. */
export const creatablePresets: readonly string[] = [...appPresets, ...databasePresets].map((preset) => preset.name);

/**
 * The values of `dockerPreset` that PATCH /app accepts: those of POST /app (a database preset only for an app that
 * already has it), and three older values.
 */
export const knownPresets: readonly string[] = [...creatablePresets, 'NODE', 'METEOR', 'PYTHON'];

/** True if the preset is a managed service, such as PostgreSQL. */
export function isDatabase(preset: string): boolean {
  return databasePresets.some((each) => each.name === preset);
}

/** Returns the disk and replica limits of a managed service; undefined for any other preset. */
export function limitsOf(preset: string): { readonly maxDisk: number; readonly maxReplicas: number } | undefined {
  return databasePresets.find((each) => each.name === preset)?.limits;
}

/** Lists the versions of a preset; the list is empty if the preset is unknown. */
export function versionsOf(preset: string): readonly string[] {
  return [...appPresets, ...databasePresets].find((each) => each.name === preset)?.versions ?? [];
}
