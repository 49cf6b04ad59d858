import type { Own } from '../../support/kustomization.ts';

/** One way to install, said twice: for Kustomize and for Helm. */
export interface Variant extends Own {
  readonly name: string;
  readonly namespace: string;
  readonly values: object;
}

const deployment = { kind: 'Deployment', name: 'apphosting-operator' };
const json = (...operations: readonly object[]) => JSON.stringify(operations);
const add = (path: string, value: unknown) => ({ op: 'add', path, value });
const replace = (path: string, value: unknown) => ({ op: 'replace', path, value });
const pod = '/spec/template/spec';
const container = `${pod}/containers/0`;

const everywhere = { overlay: 'cluster-wide', namespace: 'apphosting-system' };
const inside = { overlay: 'namespaced', namespace: 'apphosting' };
const rolesOnly = { scope: 'Namespace', crds: { install: false }, roles: { install: false } };

// As docs/operating.md says it.
const monitored = {
  patches: [{ target: { group: 'monitoring.coreos.com' }, patch: json(add('/metadata/labels/release', 'prometheus')) }],
  replacements: [
    {
      sourceValue: 'https://wiki.example.com/apphosting',
      targets: [
        {
          select: { kind: 'PrometheusRule' },
          fieldPaths: ['spec.groups.*.rules.*.annotations.runbook_url'],
          options: { delimiter: '/docs/', index: 0 },
        },
      ],
    },
  ],
};
const monitoring = {
  serviceMonitor: true,
  prometheusRule: true,
  labels: { release: 'prometheus' },
  runbooks: 'https://wiki.example.com/apphosting/docs/runbooks',
};

const proxy = { to: [{ ipBlock: { cidr: '10.1.2.3/32' } }], ports: [{ protocol: 'TCP', port: 3128 }] };
const proxied = { name: 'HTTPS_PROXY', value: 'http://10.1.2.3:3128' };
const toleration = { key: 'dedicated', operator: 'Equal', value: 'platform', effect: 'NoSchedule' };
const digest = `sha256:${'0123456789abcdef'.repeat(4)}`;
const resources = { requests: { cpu: '200m', memory: '448Mi' }, limits: { memory: '1Gi' } };

/** Every way to install that the documents name, and every value of the chart. */
export const variants: readonly Variant[] = [
  { ...everywhere, name: 'cluster-wide', values: {} },
  { ...everywhere, name: 'activation', overlay: 'activation', values: { activation: true } },
  {
    ...everywhere,
    name: 'admission policies',
    overlay: 'activation',
    components: ['activation-policy', 'secret-reference-policy'],
    values: { activation: true, policies: { activation: true, secretReferences: true } },
  },
  { ...inside, name: 'namespaced', values: rolesOnly },
  {
    ...everywhere,
    name: 'monitoring',
    components: ['monitoring', 'priority-class'],
    says: monitored,
    values: { monitoring, priorityClassName: 'system-cluster-critical' },
  },
  {
    ...inside,
    name: 'monitoring in a namespace of its own',
    namespace: 'team-a',
    components: ['monitoring'],
    says: { namespace: 'team-a', ...monitored },
    values: { ...rolesOnly, monitoring },
  },
  {
    ...everywhere,
    name: 'without a watch on Secrets',
    components: ['secret-watch-off'],
    values: { secretWatch: false },
  },
  {
    ...inside,
    name: 'without a watch on Secrets in one namespace',
    components: ['secret-watch-off'],
    values: { ...rolesOnly, secretWatch: false },
  },
  { ...everywhere, name: 'OpenShift', components: ['openshift'], values: { runAsUser: null } },
  {
    ...everywhere,
    name: 'every other value',
    says: {
      images: [{ name: 'apphosting-operator', newName: 'registry.example.com/operator', digest }],
      replicas: [{ name: 'apphosting-operator', count: 3 }],
      patches: [
        {
          target: deployment,
          patch: json(
            add(`${container}/args/-`, '--allowed-hosts=*.example.com'),
            add(`${container}/args/-`, '--selector=tenant in (blue, green)'),
            add(`${container}/env/-`, proxied),
            replace(`${container}/imagePullPolicy`, 'Always'),
            replace(`${container}/resources`, resources),
            add(`${pod}/imagePullSecrets`, [{ name: 'registry' }]),
            add(`${pod}/nodeSelector`, { 'kubernetes.io/arch': 'amd64' }),
            add(`${pod}/tolerations`, [toleration]),
            add('/spec/template/metadata/annotations/example.com~1checksum', '1'),
          ),
        },
        {
          target: { kind: 'NetworkPolicy' },
          patch: json(
            replace('/spec/egress/1/ports', [{ protocol: 'TCP', port: 16443 }]),
            add('/spec/egress/-', proxy),
          ),
        },
      ],
    },
    values: {
      image: { repository: 'registry.example.com/operator', tag: '', digest, pullPolicy: 'Always' },
      imagePullSecrets: [{ name: 'registry' }],
      replicas: 3,
      extraArgs: ['--allowed-hosts=*.example.com', '--selector=tenant in (blue, green)'],
      extraEnv: [proxied],
      resources,
      nodeSelector: { 'kubernetes.io/arch': 'amd64' },
      tolerations: [toleration],
      podAnnotations: { 'example.com/checksum': '1' },
      networkPolicy: { egressPorts: [16443], extraEgress: [proxy] },
    },
  },
  {
    ...everywhere,
    name: 'without a NetworkPolicy',
    says: {
      patches: [
        {
          target: { kind: 'NetworkPolicy' },
          patch: JSON.stringify({ $patch: 'delete', apiVersion: 'any/v1', kind: 'Any', metadata: { name: 'any' } }),
        },
      ],
    },
    values: { networkPolicy: { enabled: false } },
  },
];
