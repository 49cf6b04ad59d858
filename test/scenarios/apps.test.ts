import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startHostingService, type Commit, type HostingService } from './support/hosting-service.ts';
import { connect, eventually, sharedKubernetes } from './support/kubernetes.ts';
import { aPost, startOperator, withoutLease, type OperatorProcess, type Post } from './support/operator-process.ts';
import { Tenant } from './support/tenant.ts';

/* Apps, environments, solutions and members at the edges: one operator, one service, and a tenant for each scenario. */

const patience = 120_000;

const api = connect(sharedKubernetes());
let service: HostingService;
let post: Post;
let operator: OperatorProcess;

beforeAll(async () => {
  [service, post] = await Promise.all([startHostingService(), aPost(sharedKubernetes(), api, 'cluster-wide')]);
  operator = await startOperator(post, ...withoutLease);
});

afterAll(async () => {
  await operator.end();
  await service.end();
  await api.delete(`/api/v1/namespaces/${post.namespace}`);
  await api.close();
});

/** A tenant whose account is Ready and holds nothing. */
async function aTenant(): Promise<Tenant> {
  const tenant = await Tenant.arrive(api, service, undefined, 'bare');
  await tenant.openAccount();
  await tenant.becomes('HostingAccount', 'default', 'True/InSync', patience);
  return tenant;
}

const image = { port: 8080, image: { reference: 'r/web:1' } };
const deletable = { ...image, lifecycle: { onDelete: 'Delete' } };

/** An app of the tenant's, with an environment that somebody made in the console; the environment's id. */
async function anEnvironment(tenant: Tenant, name = 'prod', more: object = {}): Promise<string> {
  if ((await tenant.get('HostedApp', 'web')) === undefined) {
    await tenant.apply('HostedApp', 'web', deletable);
  }
  await tenant.becomes('HostedApp', 'web', 'True/InSync', patience);
  const appId = await tenant.status('HostedApp', 'web', 'externalId');
  const made = await service.control('POST', '/environments', { appId, name, region: 'eu-west', ...more });
  return (made as { appEnvId: string }).appEnvId;
}

async function rowsOf(tenant: Tenant): Promise<readonly Commit[]> {
  return (await service.ledger()).filter(({ accountId }) => accountId === tenant.accountId);
}

/** How often an environment was made to do something. */
async function done(tenant: Tenant, action: string): Promise<number> {
  return (await rowsOf(tenant)).filter(({ detail }) => detail['action'] === action).length;
}

/** What the service was told of a member's environments, in order. */
async function listsOf(tenant: Tenant): Promise<readonly unknown[]> {
  const rows = await rowsOf(tenant);
  return rows.filter(({ kind }) => kind === 'memberAccess.updated').map(({ detail }) => detail['allowedAppEnvIds']);
}

async function aMember(tenant: Tenant): Promise<string> {
  const membershipId = `mem_${tenant.accountId}`;
  const memberships = [{ accountId: tenant.accountId, membershipId, role: 'member' }];
  await service.control('POST', '/tokens', { memberships });
  return membershipId;
}

const at = { appRef: { name: 'web' }, environmentName: 'prod' };

describe.concurrent('an app', () => {
  it('stays while something protects it from deletion, and goes when nothing does', async () => {
    const tenant = await aTenant();
    const appEnvId = await anEnvironment(tenant, 'prod', { preventDestroy: true });
    const appId = await tenant.status('HostedApp', 'web', 'externalId');

    await tenant.delete('HostedApp', 'web');
    await tenant.becomes('HostedApp', 'web', 'False/DeletionBlocked', patience);
    expect(await tenant.commits('app.deleted')).toBe(0);
    await service.control('PATCH', `/apps/${String(appId)}`, { sandboxTermination: 'pending' });
    await service.control('PATCH', `/environments/${appEnvId}`, { preventDestroy: false });
    await tenant.lookAt('HostedApp', 'web');
    const saysTermination = async () =>
      (await tenant.condition('HostedApp', 'web', 'Ready'))?.message.includes('sandbox') === true;
    await eventually('its message speaks of sandboxes', saysTermination, patience);
    await service.control('PATCH', `/apps/${String(appId)}`, { sandboxTermination: 'failed' });
    await tenant.lookAt('HostedApp', 'web');
    const saysFailed = async () =>
      (await tenant.condition('HostedApp', 'web', 'Ready'))?.message.includes('fail') === true;
    await eventually('its message speaks of a failure', saysFailed, patience);
    await service.control('PATCH', `/apps/${String(appId)}`, { sandboxTermination: 'done' });
    await tenant.lookAt('HostedApp', 'web');

    await tenant.goes('HostedApp', 'web', patience);
    expect(await tenant.commits('app.deleted')).toBe(1);
  });

  it('with a slip in its preset is not sent, and its status says what was meant', async () => {
    const tenant = await aTenant();

    await tenant.apply('HostedApp', 'web', { ...image, preset: 'NEXTJS' });

    expect(await tenant.becomes('HostedApp', 'web', 'False/UnknownPreset', patience)).toContain(
      'did you mean NEXT_JS?',
    );
    expect(await tenant.commits('app.created')).toBe(0);
  });
});

describe.concurrent('an environment', () => {
  it('that two resources claim belongs to the older one, until that goes', async () => {
    const tenant = await aTenant();
    await anEnvironment(tenant);
    await tenant.apply('AppEnvironment', 'older', { ...at, deploy: { image: 'r/web:2' } });
    await tenant.becomes('AppEnvironment', 'older', 'True/InSync', patience);
    await tenant.isOlder('AppEnvironment', 'older');

    await tenant.apply('AppEnvironment', 'younger', { ...at, deploy: { image: 'r/web:3', onBind: 'Deploy' } });
    const message = await tenant.becomes('AppEnvironment', 'younger', 'False/Claimed', patience);
    expect(message).toContain(`${tenant.namespace}/older`);
    expect(await done(tenant, 'deploy-image')).toBe(1);
    await tenant.delete('AppEnvironment', 'older');

    await tenant.becomes('AppEnvironment', 'younger', 'True/InSync', patience);
    expect(await done(tenant, 'deploy-image')).toBe(2);
  });

  it('is built once more as it runs, and takes what changed in its app with a build of its own', async () => {
    const tenant = await aTenant();
    const source = { git: { namespace: 'acme', repo: 'web', installationId: '1' }, contextDir: './' };
    await tenant.apply('HostedApp', 'web', { port: 8080, source });
    const appEnvId = await anEnvironment(tenant, 'prod', { gitBranch: 'main' });
    const built = async (revision: string, more: object = {}) => {
      const deploy = { onBind: 'Deploy', build: { revision, ...more } };
      await tenant.apply('AppEnvironment', 'prod', { ...at, powerState: 'Running', deploy });
      const isThere = async () =>
        ((await tenant.status('AppEnvironment', 'prod', 'deploy')) as { revision?: string })?.revision === revision;
      await eventually(`revision ${revision} is deployed`, isThere, patience);
      await tenant.becomes('AppEnvironment', 'prod', 'True/InSync', patience);
    };
    const isPending = async (status: string) =>
      (await tenant.condition('HostedApp', 'web', 'PendingChanges'))?.status === status;
    await built('1');
    await tenant.apply('HostedApp', 'web', { port: 8080, source: { ...source, contextDir: './web' } });
    await eventually('the change waits', () => isPending('True'), patience);

    await built('2', { rebuild: true });
    const waits = await isPending('True');
    await built('3');
    await eventually('the change has been taken', () => isPending('False'), patience);

    const { contents } = (await service.control('GET', `/environments/${appEnvId}`)) as {
      contents: readonly { image: string }[];
    };
    const [first, second, third] = contents.map(({ image }) => image);
    expect(contents).toHaveLength(3);
    expect([second === first, waits, third === first]).toEqual([true, true, false]);
    expect(await done(tenant, 'build')).toBe(3);
  });

  it('gets a rotated Secret with one deployment', async () => {
    const tenant = await aTenant();
    await tenant.secret('db', { password: 'planted-one' });
    const appEnvId = await anEnvironment(tenant);
    const env = [{ name: 'PASSWORD', valueFrom: { secretKeyRef: { name: 'db', key: 'password' } } }];
    await tenant.apply('AppEnvironment', 'prod', { ...at, deploy: { image: 'r/web:2' }, env });
    await tenant.becomes('AppEnvironment', 'prod', 'True/InSync', patience);

    await tenant.secret('db', { password: 'planted-two' });
    await eventually('it is deployed', async () => (await done(tenant, 'deploy-image')) > 1, patience);
    await tenant.becomes('AppEnvironment', 'prod', 'True/InSync', patience);
    await tenant.isLookedAt('AppEnvironment', 'prod');

    expect(await done(tenant, 'deploy-image')).toBe(2);
    expect(await service.control('GET', `/environments/${appEnvId}`)).toMatchObject({
      envVars: { PASSWORD: 'planted-two' },
    });
    expect(`${operator.output()} ${await tenant.everythingWritten()}`).not.toContain('planted-two');
  });
});

describe.concurrent('a solution', () => {
  it('says what is left to be done by you, until you say that it is done', async () => {
    const tenant = await aTenant();
    const credentialId = `llm_${tenant.accountId}`;
    await service.control('PATCH', `/accounts/${tenant.accountId}`, { sandboxEntitlement: true });
    await service.control('POST', '/credentials', { credentialId, accountId: tenant.accountId, kind: 'llm' });
    const inputs = { llmProviderKeyId: 'none', agentPrimaryModel: 'large', agentSecondaryModel: 'small' };
    const spec = (given: Readonly<Record<string, string>>) => ({
      solution: 'sandbox-agent',
      appName: 'agent',
      region: 'eu-west',
      inputs: Object.entries(given).map(([name, value]) => ({ name, value })),
    });
    await tenant.apply('SolutionInstallation', 'agent', spec(inputs));
    const refused = await tenant.becomes('SolutionInstallation', 'agent', 'False/Rejected', patience);

    const wanted = spec({ ...inputs, llmProviderKeyId: credentialId });
    await tenant.apply('SolutionInstallation', 'agent', wanted);
    const told = await tenant.becomes('SolutionInstallation', 'agent', 'True/InSync', patience);
    const pending = await tenant.condition('SolutionInstallation', 'agent', 'PostInstallPending');
    await tenant.apply('SolutionInstallation', 'agent', wanted, { 'apphosting.dev/post-install-done': 'true' });
    const isDone = async () =>
      (await tenant.condition('SolutionInstallation', 'agent', 'PostInstallPending'))?.reason === 'NothingToDo';
    await eventually('nothing is left to be done', isDone, patience);

    expect(refused).toContain('spec.inputs (llmProviderKeyId): credential not found');
    expect(told).toContain('to be done by you: Connect the agent');
    expect(pending).toMatchObject({ status: 'True', reason: 'ToBeDoneByYou' });
    expect((await tenant.condition('SolutionInstallation', 'agent', 'Ready'))?.message).toBe(
      'sandbox-agent is installed',
    );
    expect(await tenant.commits('solution.created')).toBe(1);
  });

  it('that fails half way is completed, and its components can be referred to', async () => {
    const tenant = await aTenant();
    const match = { method: 'POST', path: '/solutions', bodyContains: tenant.accountId };
    await service.control('POST', '/faults', { match, effect: { failAfterComponents: 1 } });
    await tenant.apply('AppEnvironment', 'worker', {
      solutionRef: { name: 'jobs' },
      component: 'worker',
      deploy: { image: 'r/worker:1', onBind: 'Deploy' },
    });

    await tenant.apply('SolutionInstallation', 'jobs', {
      solution: 'queue-worker',
      appName: 'jobs',
      region: 'eu-west',
    });
    await tenant.becomes('SolutionInstallation', 'jobs', 'True/InSync', patience);
    await tenant.becomes('AppEnvironment', 'worker', 'True/InSync', patience);

    expect(await tenant.commits('app.created')).toBe(3);
    expect([await tenant.commits('solution.created'), await tenant.commits('solution.resumed')]).toEqual([1, 1]);
    const components = (await tenant.status('SolutionInstallation', 'jobs', 'components')) as readonly {
      environmentId: string;
    }[];
    expect(components.map(({ environmentId }) => environmentId)).toContain(
      await tenant.status('AppEnvironment', 'worker', 'externalId'),
    );
    expect(await done(tenant, 'deploy-image')).toBe(1);
  });
});

describe.concurrent('the access of a member', () => {
  it('is closed again when its list is emptied, and never widens when an environment goes', async () => {
    const tenant = await aTenant();
    const one = await anEnvironment(tenant, 'prod');
    const two = await anEnvironment(tenant, 'beta');
    const membershipId = await aMember(tenant);
    await tenant.apply('AppEnvironment', 'prod', at);
    await tenant.apply('MemberAccess', 'member', {
      externalId: membershipId,
      access: 'Restricted',
      environmentRefs: [{ name: 'prod' }, { externalId: two }],
    });
    await tenant.becomes('MemberAccess', 'member', 'True/InSync', patience);

    const emptied = { accountId: tenant.accountId, membershipId, allowedAppEnvIds: [] };
    await service.call(tenant.token, 'PATCH', '/member/env-access', emptied);
    await eventually('it is closed', async () => (await listsOf(tenant)).length > 2, patience);
    await tenant.becomes('MemberAccess', 'member', 'True/InSync', patience);
    await service.control('DELETE', `/environments/${two}`);
    await tenant.delete('AppEnvironment', 'prod');
    const message = await tenant.becomes('MemberAccess', 'member', 'False/ReferenceNotReady', patience);

    expect(message).toContain('AppEnvironment prod');
    const both = [one, two].toSorted();
    expect(await listsOf(tenant)).toEqual([both, [], both]);
    const isTold = async () => (await tenant.events('member')).some(({ reason }) => reason === 'AccessWiderThanSpec');
    await eventually('that it is wider is told', isTold);
  });
});

describe('an operator that is killed', () => {
  it('goes on with the deployment that was in flight, and does not repeat it', async () => {
    const tenant = await aTenant();
    await anEnvironment(tenant);
    const match = { method: 'POST', path: '/app-env/deploy-image', bodyContains: 'r/in-flight:1' };
    await service.control('POST', '/faults', { match, effect: { hangAfterCommit: true } });

    await tenant.apply('AppEnvironment', 'prod', { ...at, deploy: { image: 'r/in-flight:1' } });
    await eventually('the call has arrived', async () => (await done(tenant, 'deploy-image')) > 0, patience);
    operator.signal('SIGKILL');
    await operator.ended;
    expect(await tenant.internal('AppEnvironment', 'prod', 'journal')).toBeDefined();
    operator = await startOperator(post, ...withoutLease);

    await tenant.becomes('AppEnvironment', 'prod', 'True/InSync', patience);
    expect(await done(tenant, 'deploy-image')).toBe(1);
    expect(await tenant.status('AppEnvironment', 'prod', 'deploy')).not.toHaveProperty('repeatedAfterDoubt');
  });
});
