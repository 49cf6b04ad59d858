import { describeKubeContract } from '../../kube/contract.ts';
import { defineThings, kubeAt, ownNamespace } from '../support/kube.ts';
import { sharedKubernetes } from '../support/kubernetes.ts';

describeKubeContract(async () => {
  const api = await kubeAt(sharedKubernetes().kubeconfigPath);
  await defineThings(api);
  const namespace = await ownNamespace(api);
  return {
    api,
    namespace: namespace.name,
    close: async () => {
      await namespace.remove();
      await api.close();
    },
  };
});
