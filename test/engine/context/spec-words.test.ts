import { describe, expect, it } from 'vitest';
import { withSpecPaths } from '../../../src/engine/call.ts';
import { aWorld, conditionOf, messageOf } from '../../kinds/support/world.ts';

const words = { dockerPreset: 'preset', dockerPresetVersion: 'atCreation.presetVersion', 'config.url': 'webhook.url' };

describe('what the service says of a field', () => {
  it.each([
    ['dockerPreset is not known', 'spec.preset is not known'],
    ['dockerPresetVersion: no', 'spec.atCreation.presetVersion: no'],
    ['config.url must be https', 'spec.webhook.url must be https'],
    ['dockerPresets are listed', 'dockerPresets are listed'],
    ['the app uses a/dockerPreset', 'the app uses a/dockerPreset'],
  ])('is told by its place in the spec: %s', (message, told) => {
    const outcome = { is: 'refused', status: 400, message, body: undefined } as const;

    expect(withSpecPaths(outcome, words)).toEqual({ ...outcome, message: told });
  });

  it('is told so in the condition', async () => {
    const world = await aWorld();
    const text = '{"error":"config.addresses must be five at most"}';
    world.interference = ({ method }) => (method === 'POST' ? { insteadOf: { status: 400, text } } : undefined);
    world.apply('ContactPoint', 'duty', { email: { addresses: ['a@example.com'] } });
    await world.run(10_000);

    expect(conditionOf(world, 'ContactPoint', 'duty')).toBe('False/Rejected');
    expect(messageOf(world, 'ContactPoint', 'duty')).toContain('spec.email.addresses must be five at most');
  });

  it('is told of an input of a solution by its name', async () => {
    const world = await aWorld();
    const given = { llmProviderKeyId: 'none', agentPrimaryModel: 'large', agentSecondaryModel: 'small' };
    const inputs = Object.entries(given).map(([name, value]) => ({ name, value }));
    world.apply('SolutionInstallation', 'agent', {
      solution: 'sandbox-agent',
      appName: 'a',
      region: 'eu-west',
      inputs,
    });
    await world.run(10_000);

    expect(messageOf(world, 'SolutionInstallation', 'agent')).toContain(
      'spec.inputs (llmProviderKeyId): the account has no such credential',
    );
  });
});
