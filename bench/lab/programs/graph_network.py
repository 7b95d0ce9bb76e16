"""GraphSAGE of torch_geometric on one large random graph, full batch."""
import torch
import torch.nn.functional as F
from torch_geometric.nn import SAGEConv

device = "cuda" if torch.cuda.is_available() else "cpu"
nodes, edges, width = (100_000, 1_000_000, 256) if device == "cuda" else (500, 2_000, 16)


class Sage(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.convs = torch.nn.ModuleList([SAGEConv(128, width), SAGEConv(width, width), SAGEConv(width, 40)])

    def forward(self, x, edge_index):
        for conv in self.convs[:-1]:
            x = F.dropout(F.relu(conv(x, edge_index)), p=0.5, training=self.training)
        return self.convs[-1](x, edge_index)


torch.manual_seed(0)
x = torch.randn(nodes, 128).to(device)
edge_index = torch.randint(0, nodes, (2, edges)).to(device)
labels = torch.randint(0, 40, (nodes,)).to(device)
model = Sage().to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(1_000_000):
    model.train()
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x, edge_index), labels)
    loss.backward()
    optimizer.step()
    print(f"epoch {epoch}: loss {loss.item():.4f}", flush=True)
