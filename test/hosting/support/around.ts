import type { Entropy } from '../../../src/base/time.ts';
import type { Hosting, ListListener, Log, Metrics, Service, ServiceSettings } from '../../../src/engine/ports.ts';
import { openHosting, type MeasuredHosting } from '../../../src/hosting/service.ts';
import type { HostRules } from '../../../src/hosting/wire/hosts.ts';

/** Randomness that repeats itself. */
export function steadyEntropy(fraction = 0.5): Entropy {
  return { fraction: () => fraction, uuid: () => '00000000-0000-4000-8000-000000000000' };
}

/** What was logged and measured, as text: for looking whether a secret is in it. */
export function collector(): { readonly log: Log; readonly metrics: Metrics; readonly lines: string[] } {
  const lines: string[] = [];
  const line = (...parts: readonly unknown[]): void => {
    lines.push(JSON.stringify(parts));
  };
  return {
    lines,
    log: { debug: line, info: line, warn: line, error: line },
    metrics: { count: line, gauge: line, observe: line },
  };
}

/** The simulator's rules: loopback over http, nothing private. */
export const loopbackRules: HostRules = {
  allowedHosts: [],
  allowInsecureLoopback: true,
  allowPrivateAddresses: false,
  proxy: undefined,
};

type HostingOptions = Parameters<typeof openHosting>[0];

/** Our client of the service; nobody reads what it logs and measures unless that is given. */
export function hostingWith(given: Pick<HostingOptions, 'clock'> & Partial<HostingOptions>): MeasuredHosting {
  const { log, metrics } = collector();
  return openHosting({
    entropy: steadyEntropy(),
    log,
    metrics,
    hostRules: loopbackRules,
    callDeadlineMs: 30_000,
    ...given,
  });
}

/** Opens an account that nothing speaks against. */
export function serviceOf(
  hosting: Hosting,
  settings: ServiceSettings,
  onList: ListListener = () => undefined,
): Service {
  const service = hosting.open(settings, onList);
  if ('refused' in service) throw new Error(service.refused);
  return service;
}
