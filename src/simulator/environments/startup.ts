import { type App, kindOf } from '../apps/app.ts';
import { type BodyFields, flag, list, object, onlyFields, optional, present, text } from '../http/fields.ts';
import { invalid } from '../http/refusal.ts';
import type { Environment, StartupSettings } from './environment.ts';

/** The environment with the startup override that a request asks for. */
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
  const { startupConfig: saved, ...rest } = environment;
  if (clears) return rest;
  if (given === undefined) throw invalid('replaceStartupConfig needs startupConfig');
  const startupConfig = merged(replaces ? {} : (saved ?? {}), partFrom(given));
  return Object.keys(startupConfig).length === 0 ? rest : { ...rest, startupConfig };
}

function partFrom(given: BodyFields): StartupSettings {
  onlyFields(given, 'startupConfig', ['command', 'args', 'shell', 'workingDir']);
  return present({
    command: optional(given, 'command', text()),
    args: optional(given, 'args', list(text({ min: 0 }))),
    shell: optional(given, 'shell', flag),
    workingDir: optional(given, 'workingDir', text()),
  });
}

/** Omitted fields keep their value; a new command means a shell unless the request says otherwise. */
function merged(saved: StartupSettings, part: StartupSettings): StartupSettings {
  const shell = part.shell ?? (part.command === undefined ? saved.shell : true);
  const next: StartupSettings = { ...saved, ...part, ...(shell === undefined ? {} : { shell }) };
  if (next.shell !== undefined && next.command === undefined) throw invalid('startupConfig.shell needs a command');
  if (next.shell === false && /\s/.test(next.command ?? '')) {
    throw invalid('startupConfig: without a shell, command is one exact executable and args are a list of their own');
  }
  return next;
}
