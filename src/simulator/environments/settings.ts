import { type App, kindOf } from '../apps/app.ts';
import { type BodyFields, flag, object, optional, record, text } from '../http/fields.ts';
import { invalid } from '../http/refusal.ts';
import { type Environment, type EnvVar, functionFields, startupFields, type StartupSettings } from './environment.ts';

/** Sets, merges or clears the startup override of an environment, as the request says. */
export function withStartup(environment: Environment, app: App, body: BodyFields): Environment {
  const given = optional(body, 'startupConfig', object);
  const clears = optional(body, 'clearStartupConfig', flag) ?? false;
  const replaces = optional(body, 'replaceStartupConfig', flag) ?? false;
  if (given === undefined && !clears && !replaces) return environment;
  const kind = kindOf(app);
  if (kind === 'job' || kind === 'database') {
    throw invalid('a startup override is for Apps and Functions, not for Jobs or Databases & Services');
  }
  if (clears && given !== undefined) throw invalid('clearStartupConfig excludes startupConfig');
  if (clears && replaces) throw invalid('clearStartupConfig excludes replaceStartupConfig');
  if (clears) return { ...environment, startupConfig: undefined };
  if (given === undefined) throw invalid('replaceStartupConfig needs startupConfig');
  const startupConfig = merged(
    replaces ? {} : (environment.startupConfig ?? {}),
    startupFields(given, 'startupConfig'),
  );
  return { ...environment, startupConfig: Object.keys(startupConfig).length === 0 ? undefined : startupConfig };
}

/** Merges a startup override into the saved one; a new command runs in a shell unless the request says otherwise. */
function merged(saved: StartupSettings, part: StartupSettings): StartupSettings {
  const shell = part.shell ?? (part.command === undefined ? saved.shell : true);
  const next = { ...saved, ...part, ...(shell === undefined ? {} : { shell }) };
  if (next.shell !== undefined && next.command === undefined) throw invalid('startupConfig.shell needs a command');
  if (next.shell === false && /\s/.test(next.command ?? '')) {
    throw invalid('startupConfig: without a shell, command is one exact executable and args are a list of their own');
  }
  return next;
}

/** Adds variables to an environment, or changes their values; a new variable is secret and available at run time. */
export function withEnvVars(environment: Environment, body: BodyFields): Environment {
  const given = optional(body, 'envVars', record(text({ min: 0 })));
  if (given === undefined) return environment;
  const envVars = new Map(Object.entries(environment.envVars));
  for (const [name, value] of Object.entries(given)) {
    if (!/^[-._a-zA-Z][-._a-zA-Z0-9]*$/.test(name)) throw invalid(`envVars: ${JSON.stringify(name)} is not a name`);
    const saved: EnvVar = envVars.get(name) ?? { value, secret: true, runtime: true };
    envVars.set(name, { ...saved, value });
  }
  return { ...environment, envVars: Object.fromEntries(envVars) };
}

/** Merges function settings into the saved settings of an environment. */
export function withFunctionConfig(environment: Environment, app: App, body: BodyFields): Environment {
  const given = optional(body, 'functionConfig', object);
  if (given === undefined) return environment;
  if (kindOf(app) !== 'function') throw invalid('functionConfig is for Functions only');
  const functionConfig = { ...environment.functionConfig, ...functionFields(given, 'functionConfig') };
  const { minScale, maxScale } = functionConfig;
  // A maximum of 0 means no maximum.
  if (minScale !== undefined && maxScale !== undefined && maxScale > 0 && minScale > maxScale) {
    throw invalid('functionConfig.minScale must not be above maxScale');
  }
  return { ...environment, functionConfig };
}
