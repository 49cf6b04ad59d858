import { describe, expect, it } from 'vitest';
import type { Memory } from '../../../src/engine/kind/contract/step.ts';
import { appsOf, type AppRecord } from '../../../src/hosting/requests.ts';
import { hostedApp } from '../../../src/kinds/hosted-app/hosted-app.ts';
import type { HostedAppFacts } from '../../../src/kinds/hosted-app/schema.ts';
import { bound, git, presets, shownApp, source } from '../support/apps.ts';
import { callIn, inShort, fingerprint, settledStep, shows } from '../support/pass.ts';

const dockerfile = { valueFrom: { configMapKeyRef: { name: 'files', key: 'Dockerfile' } } };
const fromConfigMap = { ...source, source: { ...source.source, dockerfile } };
const configMaps = { 'files/Dockerfile': 'FROM scratch' };
const inUse: Partial<AppRecord> = { ...git, customDockerfileContentInUse: true, dockerfilePath: undefined };
const withPath: Partial<AppRecord> = { ...git, dockerfilePath: 'a.Dockerfile' };

const changes = [
  {
    because: 'a path is to become a content',
    spec: fromConfigMap,
    before: withPath,
    applied: { port: 8080, useImage: false, 'source.dockerfilePath': 'a.Dockerfile' },
    after: inUse,
  },
  {
    because: 'somebody put a path in the place of the content',
    spec: fromConfigMap,
    before: withPath,
    applied: { port: 8080, useImage: false, 'source.dockerfile': 'FROM scratch' },
    after: inUse,
  },
  {
    because: 'somebody made it run an image, and false is left out',
    spec: source,
    before: { ...git, useImage: true },
    applied: { port: 8080, useImage: false },
    after: { ...git, useImage: undefined },
  },
];

describe('a field that the service shows at times only', () => {
  it.each(changes)('is sent once: $because', ({ spec, before, applied, after }) => {
    const options = { spec, configMaps, memory: bound(applied) };
    const { committed } = callIn(settledStep(hostedApp, { ...options, shown: shownApp(before) }));
    const memory = { ...options.memory, ...committed({ appId: 'app_1' }) };

    expect(inShort(settledStep(hostedApp, { ...options, memory, shown: shownApp(after) }))).toBe('ready InSync');
  });

  it('is not sent again after the creation that carried it', () => {
    const { committed } = callIn(
      settledStep(hostedApp, { spec: source, shown: [shows(appsOf('acc_1'), []), ...presets] }),
    );
    const memory = { ...committed({ appId: 'app_1' }) };
    const shown = shownApp({ ...git, useImage: undefined });

    expect(inShort(settledStep(hostedApp, { spec: source, memory, shown }))).toBe('ready InSync');
  });

  it('is in doubt while it shows and is being sent: what it replaces is sent again when it is taken back', () => {
    const options = { spec: fromConfigMap, memory: bound({ port: 8080, 'source.dockerfile': 'FROM scratch' }) };
    const edited = { ...options, configMaps: { 'files/Dockerfile': 'FROM alpine' } };
    const { whileInFlight } = callIn(settledStep(hostedApp, { ...edited, shown: shownApp(withPath) }));
    const memory = { ...options.memory, ...whileInFlight };

    expect(memory.applied?.fingerprints['source.dockerfile']).toMatch(
      new RegExp(`^\\?${fingerprint('FROM alpine')} .*>${fingerprint('FROM scratch')}$`, 'u'),
    );
    expect(inShort(settledStep(hostedApp, { ...options, configMaps, memory, shown: shownApp(inUse) }))).toBe(
      'PATCH /app {"appId":"app_1","customDockerfileContent":"FROM scratch"}',
    );
  });

  it('is applied at once until it shows to have arrived, and twice at most after that when the answers are lost', () => {
    const options = { spec: { ...fromConfigMap, applyImmediately: true }, configMaps };
    const first = bound({ port: 8080, useImage: false, 'source.dockerfilePath': 'a.Dockerfile' });
    const lost = (memory: Partial<Memory<HostedAppFacts>>, shown: Partial<AppRecord>) => {
      const step = settledStep(hostedApp, { ...options, memory, shown: shownApp(shown) });
      return { ...memory, ...callIn(step).whileInFlight };
    };

    const missing = lost(lost(first, withPath), withPath);
    const twice = lost(lost(missing, inUse), inUse);
    expect(missing.facts?.applyInDoubt).toBeUndefined();
    expect(twice.facts?.applyInDoubt?.calls).toBe(2);
    expect(inShort(settledStep(hostedApp, { ...options, memory: twice, shown: shownApp(inUse) }))).toBe(
      'stall ApplyInDoubt',
    );
  });
});
