import { z } from 'zod';
import { isRecord } from '../../base/json.ts';
import type { Read, Request } from '../../engine/ports.ts';
import {
  bareOrIn,
  Id,
  Text,
  AnyObject,
  get,
  endpoint,
  id,
  shown,
  shownList,
  unwrapped,
  parsed,
  anyListOf,
  word,
  words,
  note,
  compared,
} from './endpoint.ts';

/** A name, bare or in an object. */
const Named = bareOrIn(compared, 'name');

/** A component of the catalog, as a bare name or with what is shown of it. */
const CatalogComponent = z.union([
  compared.transform((name) => ({ name, preset: undefined, dependsOn: [] })),
  z
    .object({ name: compared, dockerPreset: shown(word), dependsOn: shownList(Named) })
    .transform(({ dockerPreset, ...rest }) => ({ ...rest, preset: dockerPreset })),
]);

const Solution = z.object({
  solutionSlug: id,
  label: shown(words),
  /** The names of the inputs that the solution asks for. */
  requiredInputs: shownList(Named),
  /** The components that it makes, and which of them each one needs. */
  components: shownList(CatalogComponent),
});

/** An entry of the catalog. */
export type SolutionItem = Readonly<z.output<typeof Solution>>;

/** The installation that an answer names: a success or an error, at the top or in its details. */
export function installationIdOf(body: unknown): string | undefined {
  const holder = z.object({ installationId: id });
  if (!isRecord(body)) return undefined;
  const error = body['error'];
  const places = [body, body['details'], error, isRecord(error) ? error['details'] : undefined, body['installation']];
  return places.map((place) => parsed(holder, place)?.installationId).find((found) => found !== undefined);
}

/** One app, with its environment, that an installation made. */
const Component = z.object({ name: shown(compared), appId: shown(id), appEnvId: shown(id) });
type SolutionComponent = Readonly<z.output<typeof Component>>;

/** A list of objects, or of ids, as objects with that id. */
function column(value: unknown, field: 'appId' | 'appEnvId'): readonly SolutionComponent[] {
  if (!Array.isArray(value)) return [];
  const entries = value.map((entry: unknown) =>
    parsed(Component, typeof entry === 'string' ? { [field]: entry } : entry),
  );
  return entries.filter((entry) => entry !== undefined).filter((entry) => entry[field] !== undefined);
}

/** Two parallel lists as one: by the appId or the name that both show, otherwise by their order. */
function zipped(apps: readonly SolutionComponent[], environments: readonly SolutionComponent[]): SolutionComponent[] {
  return apps.map((app, index) => {
    const byId = environments.find(({ appId }) => appId !== undefined && appId === app.appId);
    const byName = environments.find(({ name }) => name !== undefined && name === app.name);
    const beside = environments.length === apps.length ? environments[index] : undefined;
    const strange = beside?.appId !== undefined || (beside?.name !== undefined && app.name !== undefined);
    const found = byId ?? byName ?? (strange ? undefined : beside);
    return { ...app, appEnvId: app.appEnvId ?? found?.appEnvId };
  });
}

function componentsIn(body: Readonly<Record<string, unknown>>): readonly SolutionComponent[] {
  const listedHere = column(body['components'], 'appId');
  if (listedHere.length > 0) return listedHere;
  const apps = ['apps', 'appIds'].flatMap((name) => column(body[name], 'appId'));
  const environments = ['appEnvs', 'environments', 'appEnvIds'].flatMap((name) => column(body[name], 'appEnvId'));
  if (apps.length > 0) return zipped(apps, environments);
  const flat = parsed(Component, body);
  return flat?.appId === undefined ? [] : [flat];
}

/** Reads the answer to an accepted `POST /solutions`; components are empty where it does not show them. */
export function solutionResultOf(body: unknown) {
  const result = unwrapped(body, 'solution', 'installation', 'result');
  if (!isRecord(body) || !isRecord(result)) return undefined;
  return {
    installationId: installationIdOf(body) ?? installationIdOf(result),
    components: componentsIn(result),
    postInstallNote: parsed(z.object({ postInstallNote: note }), result)?.postInstallNote,
  };
}

const PostSolutions = z.strictObject({
  accountId: Id,
  solutionSlug: Text,
  appName: Text,
  region: Text,
  installationId: Id.exactOptional(),
  inputs: AnyObject.exactOptional(),
});

const install = endpoint('POST', '/solutions', 'identified', PostSolutions);

/** The endpoints of solutions that take a body. */
export const solutionEndpoints = [install];

/** Installs a solution; with an installationId the same request may be repeated, and creates only what is missing. */
export function postSolutions(body: z.infer<typeof PostSolutions>): Request {
  return { ...install(body), effect: body.installationId === undefined ? 'create' : 'identified' };
}

/** The solutions that an account may install. */
export function solutionsOf(accountId: string): Read<SolutionItem> {
  return {
    key: 'solutions',
    first: get('/solutions', { accountId }),
    items: anyListOf(Solution, 'solutions'),
    idOf: (solution) => solution.solutionSlug,
    absentOn404: false,
    pace: 'hourly',
  };
}
