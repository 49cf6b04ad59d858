import { type App, kindOf } from '../apps/app.ts';
import { type BodyFields, fields, flag, list, object, optional, text } from '../http/fields.ts';
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
  if (clears) return { ...environment, startupConfig: undefined };
  if (given === undefined) throw invalid('replaceStartupConfig needs startupConfig');
  const startupConfig = merged(
    replaces ? {} : (environment.startupConfig ?? {}),
    startupFields(given, 'startupConfig'),
  );
  return { ...environment, startupConfig: Object.keys(startupConfig).length === 0 ? undefined : startupConfig };
}

const startupFields = fields({ command: text(), args: list(text({ min: 0 })), shell: flag, workingDir: text() });

/** Omitted fields keep their value; a new command means a shell unless the request says otherwise. */
function merged(saved: StartupSettings, part: StartupSettings): StartupSettings {
  const shell = part.shell ?? (part.command === undefined ? saved.shell : true);
  const next = { ...saved, ...part, ...(shell === undefined ? {} : { shell }) };
  if (next.shell !== undefined && next.command === undefined) throw invalid('startupConfig.shell needs a command');
  if (next.shell === false && /\s/.test(next.command ?? '')) {
    throw invalid('startupConfig: without a shell, command is one exact executable and args are a list of their own');
  }
  return next;
}
