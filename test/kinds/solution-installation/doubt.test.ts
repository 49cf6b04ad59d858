/** Requests under the id of an installation that may be complete: one that names an agent image would be an upgrade. */
import { describe, expect, it } from 'vitest';
import type { Disturbance } from '../../support/disturbed-wire.ts';
import type { InProcess } from '../../support/in-process.ts';
import { aWorld, commits, conditionOf, environmentOf, statusOf } from '../support/world.ts';

const kind = 'SolutionInstallation';
const mode = 'PERSONAL_SUBSCRIPTION';
const base = { solution: 'sandbox-agent', appName: 'agent', region: 'eu-west' };
const agent = (image: number) => ({
  ...base,
  inputs: [
    { name: 'agentAuthenticationMode', value: mode },
    { name: 'agentImage', value: `svc/sandbox-agent:${image}` },
  ],
});
const hour = 3_600_000;

/** An installation that somebody made by hand with the first image. */
async function byHand(world: InProcess): Promise<{ installationId: string; control: string }> {
  const { body } = await world.request('POST', '/solutions', {
    accountId: 'acc_demo',
    solutionSlug: 'sandbox-agent',
    appName: 'agent',
    region: 'eu-west',
    inputs: { agentAuthenticationMode: mode, agentImage: 'svc/sandbox-agent:1' },
  });
  const { installationId, components } = body as {
    installationId: string;
    components: readonly { name: string; appEnvId: string }[];
  };
  return { installationId, control: components.find(({ name }) => name === 'control')?.appEnvId ?? '' };
}

/** The first installation fails half way; what comes under its id meets this, as often as said. */
async function failedHalfway(world: InProcess, what: Disturbance, times: number): Promise<void> {
  await world.control('POST', '/faults', {
    match: { method: 'POST', path: '/solutions' },
    effect: { failAfterComponents: 1 },
  });
  disturb(world, '/solutions', what, { from: 1, times });
  world.apply(kind, 'agent', agent(2));
}

/** What happens to the calls to a path, after so many and as often as said. */
function disturb(world: InProcess, to: string, what: Disturbance, { from = 0, times = 1 } = {}): void {
  let count = 0;
  world.interference = ({ method, path }) => {
    if (method !== 'POST' || !path.endsWith(to)) return undefined;
    count += 1;
    return count > from && count <= from + times ? what : undefined;
  };
}

async function imagesOf(world: InProcess, appEnvId: string): Promise<readonly string[]> {
  const { contents } = (await environmentOf(world, appEnvId)) as { contents: readonly { image: string }[] };
  return contents.map(({ image }) => image);
}

/** The environment that the agent image is about, as status shows it. */
function controlOf(world: InProcess): string {
  const { components = [] } = statusOf(world, kind, 'agent') as {
    components?: readonly { name: string; environmentId: string }[];
  };
  return components.find(({ name }) => name === 'control')?.environmentId ?? '';
}

/** What was done to installations, in the words of the ledger. */
async function done(world: InProcess): Promise<readonly string[]> {
  return (await commits(world)).map((commit) => commit.kind).filter((one) => one.startsWith('solution.'));
}

const lost = { afterwards: { status: 504, text: 'gateway timeout' } } as const;

describe('a complete installation that the spec names', () => {
  it('is not upgraded while every answer is lost, and once when one comes', async () => {
    const world = await aWorld();
    const { installationId, control } = await byHand(world);
    disturb(world, '/solutions', lost, { times: Number.POSITIVE_INFINITY });
    world.apply(kind, 'agent', { ...agent(2), externalId: installationId });
    await world.run(60_000);
    const doubt = conditionOf(world, kind, 'agent');
    await world.run(hour);
    const upgrades = (await imagesOf(world, control)).slice(1);
    world.interference = () => undefined;
    await world.run(hour);

    expect(doubt).toBe('False/ServiceUnavailable');
    expect(upgrades).toEqual([]);
    expect((await imagesOf(world, control)).slice(1)).toEqual(['svc/sandbox-agent:2']);
    expect(conditionOf(world, kind, 'agent')).toBe('True/InSync');
  });

  it('is given up in doubt where only the requests that name an image are not answered', async () => {
    const world = await aWorld();
    const { installationId, control } = await byHand(world);
    world.interference = ({ method, path, body }) =>
      method === 'POST' && path.endsWith('/solutions') && body?.includes('agentImage') === true ? lost : undefined;
    world.apply(kind, 'agent', { ...agent(2), externalId: installationId });
    await world.run(hour);
    await world.crash(200_000);
    await world.run(hour);

    expect(conditionOf(world, kind, 'agent')).toBe('False/UpgradeInDoubt');
    expect((await imagesOf(world, control)).slice(1)).toEqual(['svc/sandbox-agent:2', 'svc/sandbox-agent:2']);
  });
});

describe('an installation that failed half way', () => {
  it('is not upgraded at all while every answer is lost', async () => {
    const world = await aWorld();
    await failedHalfway(world, lost, Number.POSITIVE_INFINITY);
    await world.run(hour);

    expect(await done(world)).toEqual(['solution.created', 'solution.resumed']);
    expect(statusOf(world, kind, 'agent')['complete']).toBe(false);
  });

  it('has the image of the spec in the end when that was edited on the way', async () => {
    const world = await aWorld();
    await world.control('POST', '/faults', {
      match: { method: 'POST', path: '/solutions' },
      effect: { failAfterComponents: 1 },
    });
    let isEdited = false;
    world.interference = ({ method, path }) => {
      if (isEdited || method !== 'POST' || !path.endsWith('/solutions')) return undefined;
      isEdited = true;
      world.apply(kind, 'agent', agent(3));
      return undefined;
    };
    world.apply(kind, 'agent', agent(2));
    await world.run(300_000);

    expect(await imagesOf(world, controlOf(world))).toEqual(['svc/sandbox-agent:2', 'svc/sandbox-agent:3']);
    expect(conditionOf(world, kind, 'agent')).toBe('True/InSync');
  });

  it.each(['loseAnswer', 'loseBefore', 'hangAfter'] as const)(
    'has the image of the spec in the end, for one upgrade at most, when an answer is lost: %s',
    async (what) => {
      const world = await aWorld();
      await failedHalfway(world, what, 1);
      await world.run(hour);

      expect(await done(world)).toEqual(['solution.created', 'solution.resumed', 'solution.upgraded']);
      expect((await imagesOf(world, controlOf(world))).at(-1)).toBe('svc/sandbox-agent:2');
      expect(conditionOf(world, kind, 'agent')).toBe('True/InSync');
    },
  );
});
