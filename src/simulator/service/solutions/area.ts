import { adminOf, memberOf, regionNamed } from '../accounts/access.ts';
import { accounts, type Region } from '../accounts/records.ts';
import { appNamed, apps, createApp, requireFreeAppName } from '../apps/app.ts';
import { type Area, type AreaAnswer, type AreaCall, ok, route } from '../area.ts';
import { addImage, deploy } from '../environments/deployment.ts';
import { createEnvironment, environmentNamed, environments } from '../environments/environment.ts';
import { optional, required, text } from '../../http/fields.ts';
import { found, notFound, RequestRefusal } from '../../http/refusal.ts';
import { rejected } from '../shape.ts';
import type { World } from '../../store/store.ts';
import { agentRepository, catalog, type Component, type Inputs, type Installation } from './installation.ts';
import { installations, type Installed, newInputs, requireProviderKey, sentInputs } from './installation.ts';
import type { Solution } from './installation.ts';

/**
 * Handles POST /solutions, which installs a solution, completes an installation that failed, or changes the image of a complete
 * installation.
 */
function postSolution(call: AreaCall): AreaAnswer {
  const { world, body } = call;
  const { accountId, membershipId } = adminOf(call, required(body, 'accountId', text()));
  const solution = solutionNamed(required(body, 'solutionSlug', text()));
  const region = regionNamed(world, required(body, 'region', text()));
  const installationId = optional(body, 'installationId', text());
  const known = installationId === undefined ? undefined : installationNamed(world, accountId, installationId);
  requireProviderKey(world, accountId, body);
  const appName = required(body, 'appName', text({ max: 200 }));
  const given = sentInputs(solution, body);
  const inputs = known?.inputs ?? newInputs(solution, given);
  requireAvailable(world, solution, accountId, region);
  const asked = { solutionSlug: solution.solutionSlug, appName, region: region.name };
  const before = known ?? {
    installationId: world.id('inst'),
    accountId,
    ...asked,
    inputs,
    ownerMembershipId: membershipId,
    components: [],
    createdAt: world.now,
  };
  requireSame(world, before, { ...asked, ...given }, membershipId);
  requireNotBeingDeleted(world, before);
  const alive = before.components.filter(({ appEnvId }) => world.of(environments).has(appEnvId));
  const { agentImage } = given;
  if (alive.length < solution.components.length) {
    const image = agentImage === undefined ? {} : { agentImage };
    return install(call, solution, { ...before, components: alive, inputs: { ...inputs, ...image } });
  }
  return agentImage === undefined ? done(world, solution, before) : upgrade(world, solution, before, agentImage);
}

function solutionNamed(solutionSlug: string): Solution {
  const solution = catalog.find((each) => each.solutionSlug === solutionSlug);
  return found(solution, 'the catalog has no solution with this solutionSlug');
}

function installationNamed(world: World, accountId: string, installationId: string): Installation {
  const installation = world.of(installations).get(installationId);
  if (installation?.accountId !== accountId) throw notFound('the account has no installation with this installationId');
  return installation;
}

/**
 * Rejects a solution with an agent unless the account has the Sandbox entitlement, and the region is up and supports
 * agent sandboxes.
 */
function requireAvailable(world: World, solution: Solution, accountId: string, region: Region): void {
  if (solution.agentImage === undefined) return;
  if (world.of(accounts).get(accountId)?.sandboxEntitlement !== true) {
    throw rejected(world, 'the account has no Sandbox entitlement');
  }
  if (!region.up || !region.supports.sandbox)
    throw rejected(world, `region ${region.name} is not ready for agent sandboxes`);
}

/**
 * Rejects a request for an existing installation if its values differ from those of the installation; only `agentImage`
 * may differ. With a personal subscription, also rejects a caller who did not create the installation.
 */
function requireSame(
  world: World,
  before: Installation,
  asked: Partial<Installation & Inputs>,
  membershipId: string,
): void {
  const { agentImage: _mayDiffer, ...fixed } = asked;
  const saved = { ...before, ...before.inputs };
  const other = (Object.keys(fixed) as (keyof typeof fixed)[]).find((name) => fixed[name] !== saved[name]);
  if (other !== undefined) throw rejected(world, `the installation was created with a different ${other}`);
  const isPersonal = before.inputs.agentAuthenticationMode === 'PERSONAL_SUBSCRIPTION';
  if (isPersonal && before.ownerMembershipId !== membershipId)
    throw rejected(
      world,
      'only the creator of an installation with a personal subscription can continue or upgrade it',
    );
}

function requireNotBeingDeleted(world: World, { components }: Installation): void {
  if (components.some(({ appId }) => world.of(apps).get(appId)?.deletionStarted === true))
    throw rejected(world, 'an app of this installation is being deleted, so no new component can be created');
}

function install(call: AreaCall, solution: Solution, from: Installation): AreaAnswer {
  const { world, failAfterComponents } = call;
  const missing = solution.components.filter(({ name }) => !from.components.some((each) => each.name === name));
  for (const { name } of missing) requireFreeAppName(world, from.accountId, appNameOf(from, name));
  const fails = failAfterComponents !== undefined && failAfterComponents <= missing.length;
  const creates = fails ? missing.slice(0, failAfterComponents) : missing;
  const created = creates.map((component) => createComponent(world, from, component));
  const components = inOrder(solution, [...from.components, ...created]);
  const installation: Installation = { ...from, components };
  const isNew = !world.of(installations).has(from.installationId);
  const detail = { solutionSlug: from.solutionSlug, created: created.map(({ name }) => name) };
  world.change(installations, installation, isNew ? 'solution.created' : 'solution.resumed', detail);
  return fails ? failed(world, from.installationId) : done(world, solution, installation);
}

function inOrder(solution: Solution, installed: readonly Installed[]): readonly Installed[] {
  return solution.components.flatMap(({ name }) => installed.filter((each) => each.name === name));
}

function appNameOf(installation: Installation, component: string): string {
  return `${installation.appName}-${component}`;
}

function createComponent(world: World, installation: Installation, component: Component): Installed {
  const { accountId, region, inputs } = installation;
  const { name, dockerPreset, port } = component;
  const image =
    component.image ?? (name === 'control' ? (inputs.agentImage ?? `${agentRepository}:latest`) : undefined);
  const runs = image === undefined ? {} : { useImage: true, image };
  const { appId } = createApp(world, { accountId, name: appNameOf(installation, name), dockerPreset, port, ...runs });
  const volumes = image === undefined ? 1 : 0;
  const environment = createEnvironment(world, { appId, name: 'production', region, deployed: true, volumes });
  deploy(world, environment, 'newVersion');
  return { name, appId, appEnvId: environment.appEnvId };
}

/** Deploys another agent image to the component `control` of an installation. */
function upgrade(world: World, solution: Solution, before: Installation, agentImage: string): AreaAnswer {
  const control = before.components.find(({ name }) => name === 'control');
  if (control === undefined) return done(world, solution, before);
  const app = appNamed(world, control.appId);
  world.of(apps).put({ ...app, image: agentImage, updatedAt: world.now });
  const environment = environmentNamed(world, control.appEnvId);
  const { environment: next, content } = addImage(world, environment, agentImage);
  deploy(world, next, 'newVersion');
  const installation = { ...before, inputs: { ...before.inputs, agentImage } };
  world.change(installations, installation, 'solution.upgraded', { agentImage, contentId: content.contentId });
  return done(world, solution, installation);
}

function failed(world: World, installationId: string): AreaAnswer {
  const isTop = world.readings['solution.errorId'] === 'top';
  const kept = isTop ? { installationId } : { details: { installationId } };
  return {
    refusal: new RequestRefusal(
      500,
      'the installation is incomplete: send the request again with its installationId',
      kept,
    ),
  };
}

function done(world: World, solution: Solution, { installationId, components }: Installation): AreaAnswer {
  const id = world.readings['solution.successId'] === 'shown' ? { installationId } : {};
  const { postInstallNote } = solution;
  return ok({ ...id, ...componentsOf(world, components), postInstallNote });
}

function componentsOf(world: World, components: readonly Installed[]): object {
  const [appIds, appEnvIds] = [components.map(({ appId }) => appId), components.map(({ appEnvId }) => appEnvId)];
  const forms = {
    components: { components },
    apps: {
      apps: components.map(({ name, appId }) => ({ name, appId })),
      appEnvs: components.map(({ name, appEnvId }) => ({ name, appEnvId })),
    },
    flat: { appId: appIds[0], appEnvId: appEnvIds[0], appIds, appEnvIds },
  };
  return forms[world.readings['solution.response']];
}

const solutionFields = ['accountId', 'solutionSlug', 'appName', 'region', 'installationId', 'inputs'];

/** Serves solutions: ready-made setups of several connected components. */
export const solutionsArea: Area = {
  collections: [installations],
  routes: [
    route('GET /solutions', ['svc:read'], listSolutions, ['accountId']),
    route('POST /solutions', ['svc:write:config', 'svc:write:deploy'], postSolution, solutionFields),
  ],
};

function listSolutions(call: AreaCall): AreaAnswer {
  memberOf(call, required(call.query, 'accountId', text()));
  const solutions = catalog.map(({ solutionSlug, label, requiredInputs, agentImage, components }) => ({
    solutionSlug,
    label,
    requiredInputs,
    ...(agentImage === undefined ? {} : { agentImage }),
    components: components.map(({ name, dockerPreset, dependsOn }) => ({ name, dockerPreset, dependsOn })),
  }));
  return ok({ solutions });
}
