import { z } from 'zod';
import { isRecord } from '../../base/json.ts';
import type { Read, Request } from '../../engine/ports.ts';
import { anyListNamed, bareOrIn, compared, endpoint, get, id, lenient, lenientList, note } from './endpoint.ts';
import { parsed, unwrapped, word, words, AnyObject, Id, Text } from './endpoint.ts';

/** The schema of a name in the catalog of solutions: a string, or an object that has the string in its field `name`. */
const Named = bareOrIn(compared, 'name');

/** A component that the catalog lists for a solution: only its name, or an object with its preset and dependencies. */
const CatalogComponent = z.union([
  compared.transform((name) => ({ name, preset: undefined, dependsOn: [] })),
  z
    .object({ name: compared, dockerPreset: lenient(word), dependsOn: lenientList(Named) })
    .transform(({ dockerPreset, ...rest }) => ({ ...rest, preset: dockerPreset })),
]);

const Solution = z.object({
  solutionSlug: id,
  label: lenient(words),
  /** The names of the inputs that a user must give to install the solution. */
  requiredInputs: lenientList(Named),
  /** The components that an installation of the solution creates, each with the components that it depends on. */
  components: lenientList(CatalogComponent),
});

/** A solution, as the service's catalog lists it. */
export type SolutionItem = Readonly<z.output<typeof Solution>>;

/**
 * Finds the `installationId` in the answer to `POST /solutions`: at the top of the body, in the details of an error, or in the
 * installation.
 */
export function installationIdOf(body: unknown): string | undefined {
  const holder = z.object({ installationId: id });
  if (!isRecord(body)) return undefined;
  const error = body['error'];
  const places = [body, body['details'], error, isRecord(error) ? error['details'] : undefined, body['installation']];
  return places.map((place) => parsed(holder, place)?.installationId).find((found) => found !== undefined);
}

/** An app that the installation of a solution created, with the app's environment. */
const Component = z.object({ name: lenient(compared), appId: lenient(id), appEnvId: lenient(id) });
type SolutionComponent = Readonly<z.output<typeof Component>>;

/**
 * Parses a list of the apps or environments that an installation created. An entry of the list may be an object, or only an id.
 */
function column(value: unknown, field: 'appId' | 'appEnvId'): readonly SolutionComponent[] {
  if (!Array.isArray(value)) return [];
  const entries = value.map((entry: unknown) =>
    parsed(Component, typeof entry === 'string' ? { [field]: entry } : entry),
  );
  return entries.filter((entry) => entry !== undefined).filter((entry) => entry[field] !== undefined);
}

/**
 * Finds the environment of each app: the one with the same appId, or else the one with the same name. Otherwise takes the
 * environment at the same position, if both lists have the same length.
 */
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

/** Reads the answer to a successful `POST /solutions`. `components` is empty when the answer lists no components. */
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

/** Installs a solution. A request with an `installationId` may be repeated; a repeated request creates only missing components. */
export function postSolutions(body: z.infer<typeof PostSolutions>): Request {
  return { ...install(body), effect: body.installationId === undefined ? 'create' : 'identified' };
}

/** Reads the solutions that an account may install. */
export function solutionsOf(accountId: string): Read<SolutionItem> {
  return {
    key: 'solutions',
    first: get('/solutions', { accountId }),
    items: anyListNamed(Solution, 'solutions'),
    idOf: (solution) => solution.solutionSlug,
    pace: 'hourly',
  };
}
