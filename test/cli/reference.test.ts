import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { doctor } from '../../src/cli/doctor/doctor.ts';
import { commandReferences, type ClusterPermission } from '../../src/cli/reference/commands.ts';
import { status } from '../../src/cli/status/status.ts';
import { why } from '../../src/cli/status/why.ts';
import { steering, ways, type Steering } from '../../src/cli/day-two/steer.ts';
import { candidatesFor, completion } from '../../src/cli/completion/completion.ts';
import type { Command } from '../../src/cli/frame.ts';
import { KubeError } from '../../src/engine/ports.ts';
import { InProcess } from '../support/in-process.ts';
import { MemoryKube, type KubeCall } from '../support/memory/memory-kube.ts';
import { folderOf } from './support/folder.ts';
import { clusterOf } from './support/in-memory.ts';
import { ran } from './support/spoken.ts';

const root = join(import.meta.dirname, '..', '..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');

describe('the pages of the commands', () => {
  it('have links that lead somewhere', () => {
    for (const path of ['README.md', 'pull-requests.md']) {
      const links = [...read(`docs/cli/${path}`).matchAll(/\]\(([^)#:]+)[^)]*\)/g)].map(([, link = '']) => link);
      expect(links.filter((link) => !existsSync(join(root, 'docs/cli', link)))).toEqual([]);
    }
  });
});

const serviceAccounts = { group: '', version: 'v1', plural: 'serviceaccounts', namespaced: true };

/** A connection that may do exactly what a command says it must be allowed. */
class Allowed extends MemoryKube {
  permissions: readonly ClusterPermission[] = [];
  readonly denied: string[] = [];

  isAllowed(): Promise<boolean> {
    const resource = {
      group: 'authorization.k8s.io',
      version: 'v1',
      plural: 'subjectaccessreviews',
      namespaced: false,
    };
    return this.perform({ verb: 'create', resource, namespace: undefined, name: undefined }, async () => true);
  }

  protected override async perform<T>(call: KubeCall, act: () => Promise<T>): Promise<T> {
    const name = call.resource.group === '' ? call.resource.plural : `${call.resource.plural}.${call.resource.group}`;
    const isAllowed = this.permissions.some(
      ({ verbs, resources }) => verbs.includes(call.verb) && resources.includes(name),
    );
    if (isAllowed) return super.perform(call, act);
    this.denied.push(`${call.verb} ${name}`);
    throw new KubeError('forbidden', `may not ${call.verb} ${name}`);
  }
}

describe('what a command must be allowed', () => {
  const commands: readonly (readonly [name: string, call: Command, args: readonly string[]])[] = [
    ['status', status, []],
    ['why', why, ['aenv/web']],
    ['doctor', doctor, []],
    ...(Object.keys(ways) as Steering[]).map((name) => [name, steering(name), ['AppEnvironment/web']] as const),
  ];

  it.each(commands)('is enough for %s, and all of it is used', async (name, call, args) => {
    const world = new InProcess({ world: 'demo' });
    await world.start();
    world.account();
    world.cluster.create(serviceAccounts, 'apphosting-system', {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name: 'apphosting-operator', namespace: 'apphosting-system' },
    });
    world.apply('AppEnvironment', 'web', { externalId: 'env_web_prod' }, { 'apphosting.dev/paused': 'true' });
    await world.run(10_000);
    const api = new Allowed(world.cluster);
    const reference = commandReferences.find(({ command }) => command.name.split(' ')[0] === name);
    api.permissions = reference?.cluster ?? [];

    await ran(call, args, { cluster: { ...clusterOf(world), api } });

    expect(api.denied).toEqual([]);
    const used = new Set(api.calls.map(({ verb }) => verb));
    expect([...used].toSorted()).toEqual([...new Set(api.permissions.flatMap(({ verbs }) => verbs))].toSorted());
  });
});

describe('completion', () => {
  it.each([
    [['pl'], ['plan']],
    [['s'], ['status', 'sandbox']],
    [['plan', '--fa'], ['--fail-on']],
    [['plan', '-o', 'm'], ['markdown']],
    [
      ['status', '-o', ''],
      ['text', 'wide', 'json', 'yaml', 'name'],
    ],
    [['nothing', '-'], []],
    [['why', 'Con'], ['ContactPoint/']],
    [
      ['why', '-n', 'team', 'ContactPoint/'],
      ['ContactPoint/mail', 'ContactPoint/pager'],
    ],
    [['pause', '--wait', 'cpoint/p'], ['cpoint/pager']],
    [['redeploy', ''], ['web-prod']],
    [['why', 'ContactPoint/', '--no-such'], []],
  ])('completes %j', async (words, values) => {
    const world = new InProcess();
    for (const name of ['mail', 'pager'])
      world.apply('ContactPoint', name, { email: { addresses: ['a@example.com'] } });
    world.apply('AppEnvironment', 'web-prod', { externalId: 'env_web_prod' });
    const commands = ['plan', 'status', 'sandbox'].map((name) => [name, ''] as const);

    const { found } = await candidatesFor(words, commands, clusterOf(world));

    expect(found.map(([value]) => value)).toEqual(values);
  });

  it.each(['bash', 'zsh', 'fish'])('is a script that %s can read', async (shell) => {
    const { out } = await ran(completion, [shell]);
    const file = join(folderOf({ script: out }), 'script');

    const { status, stderr } = spawnSync(shell, ['-n', file], { encoding: 'utf8' });

    expect([status ?? 0, stderr ?? '']).toEqual([0, '']);
  });

  it.each([
    [['bash'], 'apphosting', 'complete -o default -F _apphosting apphosting'],
    [['zsh'], '_apphosting', '#compdef apphosting'],
    [['fish'], 'apphosting.fish', 'complete -c apphosting'],
    [[], 'kubectl_complete-apphosting', '#!/bin/sh'],
  ])('installs the script of the shell that is named, else that of kubectl: %j', async (shell, name, line) => {
    const folder = folderOf({});

    const { code, out } = await ran(completion, [...shell, '--install', '--folder', folder]);

    expect([code, out]).toEqual([0, `${join(folder, name)}\n`]);
    expect(readFileSync(join(folder, name), 'utf8')).toContain(line);
  });

  it('installs nothing for a shell that it does not know', async () => {
    const folder = folderOf({});

    const { code } = await ran(completion, ['tcsh', '--install', '--folder', folder]);

    expect(code).toBe(64);
    expect(readdirSync(folder)).toEqual([]);
  });
});
