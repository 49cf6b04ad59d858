import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { actionsOf } from '../../src/crd/argocd.ts';
import { kinds } from '../../src/kinds/index.ts';
import { runLua } from './support/lua.ts';
import { argoOf, kstatusOf, rows } from './support/statuses.ts';

const file = join(import.meta.dirname, '..', '..', 'deploy', 'argocd', 'argocd-cm.yaml');
const { data } = z.object({ data: z.record(z.string(), z.string()) }).parse(parse(readFileSync(file, 'utf8')));
const health = (kind: string) => data[`resource.customizations.health.apphosting.dev_${kind}`] ?? '';
const Actions = z.object({
  'discovery.lua': z.string(),
  definitions: z.array(z.object({ name: z.string(), 'action.lua': z.string() })),
});
const actions = (kind: string) =>
  Actions.parse(parse(data[`resource.customizations.actions.apphosting.dev_${kind}`] ?? ''));

async function act(kind: string, name: string, object: object): Promise<unknown> {
  const found = actions(kind).definitions.find((one) => one.name === name);
  return runLua(found?.['action.lua'] ?? 'error("there is no such action")', object);
}

describe('every status a kind can have', () => {
  it('is read by kstatus as the table says', () => {
    expect(rows().filter(({ object, kstatus }) => kstatusOf(object) !== kstatus)).toEqual([]);
  });

  it('means the same to Argo CD', async () => {
    for (const row of rows()) {
      expect(await runLua(health('ContactPoint'), row.object), row.name).toMatchObject({ status: argoOf(row) });
    }
  });

  it('is waited for where there is no status at all, which kstatus alone would take for current', async () => {
    const [row] = rows();
    const { status: _none, ...fresh } = row?.object ?? {};

    expect(await runLua(health('ContactPoint'), fresh)).toMatchObject({ status: 'Progressing' });
    expect(await runLua(health('ContactPoint'), { ...fresh, status: {} })).toMatchObject({ status: 'Progressing' });
  });

  it('would be noticed if a script said something else', async () => {
    const wrong = health('ContactPoint').replace('"Degraded"', '"Healthy"');
    const stalled = rows().find(({ kstatus }) => kstatus === 'Failed');

    expect(await runLua(wrong, stalled?.object ?? {})).not.toMatchObject({ status: 'Degraded' });
  });
});

describe('what Argo CD is told', () => {
  it('is the same health for every kind', () => {
    expect(new Set(kinds.map(({ kind }) => health(kind))).size).toBe(1);
    expect(health('ContactPoint')).not.toBe('');
  });

  it.each(kinds.map(({ kind }) => kind))('names for %s what can be done, and never what is dangerous', (kind) => {
    const names = actions(kind).definitions.map(({ name }) => name);

    expect(names).toEqual(actionsOf({ kind }));
    expect(names.filter((name) => /activate|discard|reset|delete/u.test(name))).toEqual([]);
  });

  it.each(kinds.map(({ kind }) => kind))('offers for %s exactly the actions that there are', async (kind) => {
    const offered = await runLua(actions(kind)['discovery.lua'], { kind, metadata: {}, spec: {} });

    expect(Object.keys(z.record(z.string(), z.object({ disabled: z.boolean() })).parse(offered)).toSorted()).toEqual(
      actionsOf({ kind }).toSorted(),
    );
  });
});

describe('what is offered', () => {
  const offered = async (kind: string, spec: object, annotations?: object) => {
    const found = await runLua(actions(kind)['discovery.lua'], { kind, metadata: { annotations }, spec });
    const each = z.record(z.string(), z.object({ disabled: z.boolean() })).parse(found);
    return Object.keys(each)
      .filter((name) => each[name]?.disabled === false)
      .toSorted();
  };
  const held = { 'apphosting.dev/paused': 'true' };

  it.each([
    ['AppEnvironment', {}, undefined, ['pause', 'redeploy', 'refresh', 'start', 'stop']],
    ['AppEnvironment', { powerState: 'Running' }, undefined, ['pause', 'redeploy', 'refresh', 'stop']],
    ['AppEnvironment', { powerState: 'Stopped' }, undefined, ['pause', 'refresh', 'start']],
    ['AppEnvironment', { powerState: 'Running' }, held, ['resume', 'stop']],
    ['DisasterProtection', {}, undefined, ['pause', 'refresh', 'validate-now']],
    ['DisasterProtection', {}, held, ['resume']],
    ['RecoveryActivation', {}, undefined, ['pause', 'refresh']],
  ])('for %s %o, annotated %o: %o', async (kind, spec, annotations, names) => {
    expect(await offered(kind, spec, annotations)).toEqual(names);
  });
});

describe('an action', () => {
  const object = {
    apiVersion: 'apphosting.dev/v1alpha1',
    kind: 'AppEnvironment',
    metadata: { name: 'web', namespace: 'team-a', uid: 'u-1' },
    spec: { externalId: 'env_1' },
  };
  const now = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/u;

  it.each([
    ['refresh', 'apphosting.dev/reconcile-at'],
    ['redeploy', 'apphosting.dev/redeploy-at'],
  ])('%s writes the time into %s and nothing else', async (name, annotation) => {
    expect(await act('AppEnvironment', name, object)).toEqual({
      ...object,
      metadata: { ...object.metadata, annotations: { [annotation]: expect.stringMatching(now) } },
    });
  });

  it('pauses and resumes', async () => {
    const held = { ...object, metadata: { ...object.metadata, annotations: { 'apphosting.dev/paused': 'true' } } };

    expect(await act('AppEnvironment', 'pause', object)).toEqual(held);
    expect(await act('AppEnvironment', 'resume', held)).toMatchObject({ spec: object.spec });
    expect(JSON.stringify(await act('AppEnvironment', 'resume', held))).not.toContain('paused');
  });

  it.each([
    ['stop', 'Stopped'],
    ['start', 'Running'],
  ])('%s asks for %s', async (name, powerState) => {
    expect(await act('AppEnvironment', name, object)).toEqual({ ...object, spec: { ...object.spec, powerState } });
  });

  it('validates with an object of its own, which goes with the protection', async () => {
    const protection = { ...object, kind: 'DisasterProtection', spec: {} };
    const created = await act('DisasterProtection', 'validate-now', protection);

    expect(created).toEqual([
      {
        operation: 'create',
        resource: {
          apiVersion: 'apphosting.dev/v1alpha1',
          kind: 'RecoveryValidation',
          metadata: {
            name: expect.stringMatching(/^web-\d{12}$/u),
            namespace: 'team-a',
            ownerReferences: [{ apiVersion: object.apiVersion, kind: 'DisasterProtection', name: 'web', uid: 'u-1' }],
          },
          spec: { protectionRef: { name: 'web' } },
        },
      },
    ]);
  });
});

const Team = z.object({
  spec: z.object({
    source: z.object({
      kustomize: z.object({
        patches: z.array(z.object({ target: z.object({ kind: z.string() }), patch: z.string() })),
      }),
    }),
  }),
});

describe('the Application of a team', () => {
  const text = readFileSync(join(import.meta.dirname, '..', '..', 'deploy', 'argocd', 'team.yaml'), 'utf8');
  const { patches } = Team.parse(parse(text)).spec.source.kustomize;
  const waveOf = (kind: string) => {
    const found = patches.find(({ target }) => new RegExp(`^(?:${target.kind})$`, 'u').test(kind));
    return Number(/sync-wave: "(-?\d+)"/u.exec(found?.patch ?? '')?.[1] ?? 0);
  };

  it.each([
    ['HostingAccount', 'Secret'],
    ['HostedApp', 'HostingAccount'],
    ['AppEnvironment', 'HostedApp'],
    ['AppEnvironment', 'SolutionInstallation'],
    ['MetricAlert', 'AppEnvironment'],
    ['MetricAlert', 'ContactPoint'],
    ['MemberAccess', 'AppEnvironment'],
    ['DisasterProtection', 'AppEnvironment'],
    ['RecoveryValidation', 'DisasterProtection'],
    ['RecoveryActivation', 'DisasterProtection'],
    ['ActivationDiscard', 'DisasterProtection'],
    ['DisasterReset', 'DisasterProtection'],
  ])('syncs %s in no earlier wave than the %s that it refers to', (kind, other) => {
    expect(waveOf(kind)).toBeGreaterThanOrEqual(waveOf(other));
  });
});
