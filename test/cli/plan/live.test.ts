import { describe, expect, it } from 'vitest';
import { isRecord } from '../../../src/base/json.ts';
import { loadDocuments } from '../../../src/cli/documents/load.ts';
import { makePlan } from '../../../src/cli/plan/make-plan.ts';
import type { Plan } from '../../../src/cli/plan/model.ts';
import { sortDocuments } from '../../../src/cli/plan/scenes.ts';
import { parseStored } from '../../../src/engine/objects/stored.ts';
import { kinds } from '../../../src/kinds/index.ts';
import { resourceOf } from '../../../src/engine/kind/contract/define.ts';
import { InProcess } from '../../support/in-process.ts';
import { folderOf } from '../support/folder.ts';
import { readerOf } from '../support/in-memory.ts';

const specs = {
  ContactPoint: { email: { addresses: ['a@example.com'] } },
  HostedApp: { port: 80, image: { reference: 'r.example/api:1' } },
  AppEnvironment: { externalId: 'env_web_prod', deploy: { image: 'r.example/web:1', onBind: 'Deploy' } },
  MetricAlert: {
    environmentRef: { name: 'it' },
    metric: 'cpu_percent',
    operator: 'GreaterThan',
    contactPointRefs: [{ name: 'it' }],
  },
} as const;

/** A world in which an operator has made all of them, each with the name `it`. */
async function managed(): Promise<InProcess> {
  const world = new InProcess({ world: 'demo' });
  await world.start();
  world.account();
  for (const [kind, spec] of Object.entries(specs)) world.apply(kind, 'it', spec);
  await world.run(400_000);
  return world;
}

/** The plan of these specs against what the cluster of the world shows. */
async function planned(world: InProcess, wanted: Readonly<Record<string, object>>): Promise<Plan> {
  const documents = Object.entries(wanted).map(([kind, spec]) => {
    return JSON.stringify({ apiVersion: 'apphosting.dev/v1alpha1', kind, metadata: { name: 'it' }, spec });
  });
  const objects = kinds.flatMap((kind) =>
    world.cluster.all(resourceOf(kind)).map((object) => parseStored(kind, object)),
  );
  const folder = folderOf({ 'all.yaml': documents.join('\n---\n') });
  return makePlan({
    name: 'test',
    from: folder,
    wanted: sortDocuments(await loadDocuments(folder), 'team'),
    live: { objects, problems: [] },
    readers: [readerOf(world)],
    requestsPerSecond: 5,
  });
}

const told = ({ rows }: Plan) =>
  rows.map(({ call, name, kind, fields }) => [call, `${kind}/${name}`, fields.map((field) => field.name)]);

describe('a plan against a cluster', () => {
  it('tells nothing where the documents are as what is there, without the key of the operator', async () => {
    const made = await planned(await managed(), specs);

    expect(told(made)).toEqual([]);
    expect(made.drift).toEqual([]);
    expect(made).toMatchObject({ complete: true, findings: [], notes: [] });
  });

  it('tells a change of what the service never shows', async () => {
    const made = await planned(await managed(), {
      ...specs,
      ContactPoint: { email: { addresses: ['b@example.com'] } },
      AppEnvironment: { ...specs.AppEnvironment, deploy: { image: 'r.example/web:2', onBind: 'Deploy' } },
    });

    expect(told(made)).toEqual([
      ['POST /app-env/deploy-image', 'AppEnvironment/it', ['image']],
      ['PATCH /contact-point', 'ContactPoint/it', ['config.addresses']],
    ]);
  });

  it('tells an upgrade of an agent image as one that deploys, and not as an installation', async () => {
    const agent = (image: string) => ({
      solution: 'sandbox-agent',
      appName: 'agent',
      region: 'eu-west',
      inputs: [
        { name: 'agentAuthenticationMode', value: 'PERSONAL_SUBSCRIPTION' },
        { name: 'agentImage', value: image },
      ],
    });
    const world = new InProcess({ world: 'demo' });
    await world.start();
    world.account();
    world.apply('SolutionInstallation', 'it', agent('svc/sandbox-agent:1'));
    await world.run(400_000);

    const same = await planned(world, { SolutionInstallation: agent('svc/sandbox-agent:1') });
    const { rows, findings } = await planned(world, { SolutionInstallation: agent('svc/sandbox-agent:2') });

    expect(same.rows).toEqual([]);
    expect(rows).toMatchObject([
      {
        action: 'deploy',
        call: 'POST /solutions',
        note: 'deploys a different agent image to agent',
        restarts: 'agent',
      },
    ]);
    expect(rows[0]?.fields).toContainEqual({ name: 'inputs.agentImage', after: 'svc/sandbox-agent:2' });
    expect(findings).toEqual([]);
  });

  it('tells that changes which wait for a deployment restart the environments when they are applied at once', async () => {
    const world = new InProcess({ world: 'demo' });
    await world.start();
    world.account();
    const app = (port: number) => ({ externalId: 'app_web', name: 'web', port });
    world.apply('HostedApp', 'it', app(3000));
    await world.run(100_000);
    world.apply('HostedApp', 'it', app(3001));
    await world.run(100_000);

    const { rows } = await planned(world, { HostedApp: { ...app(3001), applyImmediately: true } });

    expect(rows).toMatchObject([
      {
        action: 'change',
        call: 'PATCH /app',
        fields: [],
        note: 'deploys at once, and restarts running environments of web',
        restarts: 'running environments of web',
      },
    ]);
  });

  it('keeps apart what differs already and is not caused by the documents', async () => {
    const world = await managed();
    const status = world.get('MetricAlert', 'it')?.status;
    const alertId = isRecord(status) ? status['externalId'] : undefined;
    await world.request('PATCH', '/alert', { alertId, threshold: 99 });

    const made = await planned(world, specs);

    expect(told(made)).toEqual([]);
    expect(made.drift).toMatchObject([
      { name: 'it', call: 'PATCH /alert', fields: [{ name: 'threshold', before: 99, after: 80 }] },
    ]);
  });
});
